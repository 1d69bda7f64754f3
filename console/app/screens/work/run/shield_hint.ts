import { useEffect, useState } from "preact/hooks";
import { type Agent, call, type EvaluatedCommand, type Evaluation } from "../../../api.ts";
import { ExactCommand } from "../../../components/exact_command.ts";
import { messageOf } from "../../../components/states.ts";
import { Verdict } from "../../../components/verdict.ts";
import { html } from "htm/preact";
import { may } from "../../../session.ts";
import { draft, target } from "./state.ts";
import type { Target } from "./target.ts";

const TYPED_MS = 150;
/** Agents with other labels than these are judged when the command is started. */
const LABEL_SETS_MAX = 5;
const ORDER = ["allow", "approve", "deny"];

/** What the shield says about the typed command, while it is typed. */
export function ShieldHint() {
  const [{ result, error }, setJudged] = useState<Judged>(NOT_JUDGED);
  const [isOld, setOld] = useState(false);
  const text = draft.value, on = target.value;
  useEffect(() => {
    if (text.trim() === "" || !may("system:read")) return setJudged(NOT_JUDGED);
    setOld(true);
    const abort = new AbortController();
    const show = (judged: Judged) => {
      if (abort.signal.aborted) return;
      setJudged(judged);
      setOld(false);
    };
    const timer = setTimeout(() =>
      judge(text, on, abort.signal).then(
        (result) => show({ result, error: null }),
        (error) => show({ result: null, error }),
      ), TYPED_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, on]);
  if (!may("system:read")) return null;
  return html`
    <section aria-label="The shield's verdict" aria-live="polite" aria-busy=${isOld}>
      ${error !== null
        ? html`<p class="bad">${messageOf(error)}</p>`
        : result === null
        ? html`<p class="soft">The shield's verdict appears here while you type.</p>`
        : html`
          <${Verdict} result=${result} />
          ${result.span !== null &&
            html`<${ExactCommand} text=${result.command} span=${result.span} />`}
          ${!isWhole(on) && html`
            <p class="soft">Not all labels of these agents were known here. Each agent's own labels
              count when the command is started.</p>
          `}
        `}
    </section>
  `;
}

interface Judged {
  readonly result: EvaluatedCommand | null;
  readonly error: unknown;
}

const NOT_JUDGED: Judged = { result: null, error: null };

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

type Labels = Readonly<Record<string, string>>;

/** The different labels of the picked agents. */
const distinct = (agents: readonly Agent[]): ReadonlyMap<string, Labels> =>
  new Map(agents.map(({ labels }) => [JSON.stringify(labels), labels]));

/** The labels to judge with. */
function labelSetsOf(on: Target): readonly Labels[] {
  if (on.kind === "labels") return [on.labels];
  if (on.kind === "all" || on.agents.length === 0) return [{}];
  return [...distinct(on.agents).values()].slice(0, LABEL_SETS_MAX);
}

/** True when the verdict is that of all labels of the picked agents. */
const isWhole = (on: Target): boolean =>
  on.kind === "agents" && distinct(on.agents).size <= LABEL_SETS_MAX;
