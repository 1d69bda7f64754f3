import { useEffect, useState } from "preact/hooks";
import { call, type EvaluatedCommand, type Evaluation } from "../../../api.ts";
import { ExactCommand } from "../../../components/exact_command.ts";
import { Verdict } from "../../../components/verdict.ts";
import { html } from "htm/preact";
import { may } from "../../../session.ts";
import { draft, type Target, target } from "./state.ts";

const TYPED_MS = 150;
/** Agents with other labels than these are judged when the command is started. */
const LABEL_SETS_MAX = 5;
const ORDER = ["allow", "approve", "deny"];

/** What the shield says about the typed command, while it is typed. */
export function ShieldHint() {
  const [result, setResult] = useState<EvaluatedCommand | null>(null);
  const [isOld, setOld] = useState(false);
  const text = draft.value, on = target.value;
  useEffect(() => {
    if (text.trim() === "" || !may("system:read")) return setResult(null);
    setOld(true);
    const abort = new AbortController();
    const timer = setTimeout(() =>
      judge(text, on, abort.signal).then((worst) => {
        setResult(worst);
        setOld(false);
      }, () => {}), TYPED_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, on]);
  if (!may("system:read")) return null;
  return html`
    <section aria-label="The shield's verdict" aria-live="polite" aria-busy=${isOld}>
      ${result === null
        ? html`<p class="soft">The shield's verdict appears here while you type.</p>`
        : html`
          <${Verdict} result=${result} />
          ${result.span !== null &&
            html`<${ExactCommand} text=${result.command} span=${result.span} />`}
        `}
    </section>
  `;
}

/** The worst verdict on the picked agents. */
async function judge(text: string, on: Target, signal: AbortSignal): Promise<EvaluatedCommand> {
  const judged = await Promise.all(
    labelSetsOf(on).map((labels) =>
      call("shield.evaluate", { body: { commands: [text], labels }, signal })
    ),
  );
  return judged.map((answer) => (answer as Evaluation).results[0]!)
    .reduce((worst, one) => rank(one) > rank(worst) ? one : worst);
}

const rank = ({ verdict, risk_score }: EvaluatedCommand): number =>
  ORDER.indexOf(verdict) * 1_000 + risk_score;

/** The different labels of the picked agents. */
function labelSetsOf(on: Target): readonly Readonly<Record<string, string>>[] {
  if (on.kind === "labels") return [on.labels];
  if (on.kind === "all" || on.agents.length === 0) return [{}];
  const sets = new Map(on.agents.map(({ labels }) => [JSON.stringify(labels), labels]));
  return [...sets.values()].slice(0, LABEL_SETS_MAX);
}
