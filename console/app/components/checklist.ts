import { useEffect, useState } from "preact/hooks";
import { html } from "htm/preact";
import type { Step } from "../proof/steps.ts";

/** What a proof has come to: steps appear as they are checked. */
export interface Proving {
  readonly steps: readonly Step[];
  readonly isDone: boolean;
  readonly error: unknown;
}

const BEGUN: Proving = { steps: [], isDone: false, error: null };

/** Runs a proof when the screen opens and when a dependency changes. */
export function useProof(
  prove: (signal: AbortSignal) => AsyncIterable<Step>,
  dependencies: readonly unknown[],
): Proving {
  const [proving, setProving] = useState(BEGUN);
  useEffect(() => {
    const abort = new AbortController();
    const show = (next: Proving) => !abort.signal.aborted && setProving(next);
    const run = async () => {
      const steps: Step[] = [];
      try {
        for await (const step of prove(abort.signal)) {
          steps.push(step);
          show({ steps: [...steps], isDone: false, error: null });
        }
        show({ steps: [...steps], isDone: true, error: null });
      } catch (error) {
        show({ steps: [...steps], isDone: true, error });
      }
    };
    setProving(BEGUN);
    run();
    return () => abort.abort();
  }, dependencies);
  return proving;
}

/** True when every step was checked and none failed. */
export const isProven = ({ steps, isDone, error }: Proving): boolean =>
  isDone && error === null && steps.length > 0 && steps.every(({ state }) => state !== "failed");

const MARKS = { passed: "✓", failed: "✗", skipped: "–" } as const;
const TONES = { passed: "good", failed: "bad", skipped: "soft" } as const;
const WORDS = { passed: "Passed", failed: "Failed", skipped: "Not checked" } as const;

/** The steps of a proof, each with what it found. */
export function Checklist({ label, steps }: {
  readonly label: string;
  readonly steps: readonly Step[];
}) {
  return html`
    <ol class="checklist" aria-label=${label} aria-live="polite">
      ${steps.map(({ title, state, detail }) =>
        html`
          <li>
            <span class=${`mark ${TONES[state]}`} aria-hidden="true">${MARKS[state]}</span>
            <div>
              <strong class=${state === "failed"
                ? "bad"
                : ""}>${title}</strong> <span class="unseen">${WORDS[state]}</span>
              <p class="soft">${detail}</p>
            </div>
          </li>
        `
      )}
    </ol>
  `;
}
