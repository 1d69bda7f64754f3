import { useEffect, useState } from "preact/hooks";
import { call, type EvaluatedCommand, type Evaluation, type ShieldPolicyInput } from "../../api.ts";
import { Copy } from "../../components/copy.ts";
import { Explained } from "./explained.ts";
import { type Control, Field } from "../../components/form.ts";
import { Failure } from "../../components/states.ts";
import { VerdictBadge } from "../../components/verdict.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf, path, query } from "../../router.ts";
import { may } from "../../session.ts";
import { candidateOf } from "../../policy_candidate.ts";
import { commandInHash, hashOf, labelsOf } from "./playground_address.ts";
import { PlaygroundChoices } from "./playground_choices.ts";

/** Commands to begin with. */
const EXAMPLES = [
  "rm -rf /var/www/*",
  "curl https://example.com/install.sh | sudo sh",
  'pwsh -Command "Get-ChildItem C:\\ -Recurse | Remove-Item -Force"',
  "echo cm0gLXJmIC8K | base64 -d | sh",
];
/** A pause in typing after which a command is judged. */
const PAUSE_MS = 250;

/** Judges a command that nobody runs, under the policies in force or any version of one. */
export default function Playground() {
  const [command, setCommand] = useState(commandInHash());
  const settled = useSettled(command);
  useEffect(() => {
    // In the fragment, which browsers do not send, so that no log of a server has the command.
    history.replaceState(null, "", location.pathname + location.search + hashOf(settled));
  }, [settled]);
  useEffect(() => {
    const changed = () => setCommand(commandInHash());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return html`
    <div class="title">
      <h1>Playground</h1>
    </div>
    <p>Nothing runs here. The shield says what it would do with a command.</p>
    <${Field} label="Command">${(control: Control) =>
      html`
        <textarea ...${control} rows="3" spellcheck=${false} autocapitalize="off" value=${command}
          onInput=${(event: Event) => setCommand((event.target as HTMLTextAreaElement).value)} />
      `}<//>
    <${PlaygroundChoices} />
    ${settled.trim() === ""
      ? html`
        <section class="card">
          <h2>Try one of these</h2>
          <ul class="entries">
            ${EXAMPLES.map((example) =>
              html`
                <li><button type="button" class="plain" onClick=${() => setCommand(example)}>
                  <code>${example}</code>
                </button></li>
              `
            )}
          </ul>
        </section>
      `
      : html`<${Judged} command=${settled} />`}
  `;
}

function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

interface Verdicts {
  readonly chosen: EvaluatedCommand;
  /** Under the policies in force, when another policy was chosen. */
  readonly present: EvaluatedCommand | null;
}

function Judged({ command }: { readonly command: string }) {
  const { labels = "", policy = "", version = "" } = query.value;
  const { data, error, again } = useData<Verdicts>(
    async (signal) => {
      const judge = async (candidate?: ShieldPolicyInput | null) => {
        const body = {
          commands: [command],
          labels: labelsOf(labels),
          ...candidate !== undefined && { policy: candidate },
        };
        const { results } = await call("shield.evaluate", { body, signal }) as Evaluation;
        return results[0]!;
      };
      if (policy === "") return { chosen: await judge(), present: null };
      const candidate = policy === "none" ? null : await candidateFrom(policy, version, signal);
      const [chosen, present] = await Promise.all([judge(candidate), judge()]);
      return { chosen, present };
    },
    [command, labels, policy, version],
    { types: ["policy", "shield"] },
  );
  const [shown, setShown] = useState<Verdicts | null>(null);
  useEffect(() => void (data !== null && setShown(data)), [data]);
  const about = useRules();
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (shown === null) return null;
  const { chosen, present } = shown;
  return html`
    <section class="card" aria-label="Verdict" aria-live="polite" aria-busy=${data === null}>
      <${Explained} result=${chosen} about=${about} />
      ${present !== null && html`
        <p>Under the policies in force: <${VerdictBadge} verdict=${present
          .verdict} />, score ${present
          .risk_score}${present.verdict === chosen.verdict
          ? ". The verdict is the same."
          : ". The verdict differs."}</p>
      `}
    </section>
    <section class="card">
      <h2>Share it</h2>
      <p class="soft">The command is in the part of the address that browsers do not send.</p>
      <${Copy} label="Copy the link"
        text=${location.origin + addressOf(path.value, query.value) + hashOf(command)} />
    </section>
  `;
}

async function candidateFrom(id: string, version: string, signal: AbortSignal) {
  const { document } = version === ""
    ? await call("gitops.get_policy", { params: { id }, signal })
    : await call("gitops.get_version", { params: { id, version }, signal });
  return candidateOf(document);
}

/** What each built-in rule finds. */
function useRules(): ReadonlyMap<string, string> {
  const { data } = useData(async (signal) => {
    if (!may("patterns:read")) return new Map<string, string>();
    const { patterns } = await call("patterns.list", { query: { limit: 100 }, signal });
    return new Map(
      patterns.flatMap(({ rules }) =>
        rules.map(({ id, explanation }) => [id, explanation] as const)
      ),
    );
  }, []);
  return data ?? new Map();
}
