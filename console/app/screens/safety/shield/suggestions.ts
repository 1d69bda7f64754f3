import { call, type RuleSuggestions } from "../../../api.ts";
import { Copy } from "../../../components/copy.ts";
import { Failure } from "../../../components/states.ts";
import { durationOf } from "../../../components/duration.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";

/** What people decided about the commands of each rule, with policies for lines that they always approved. */
export function Suggestions() {
  const { data, error, again } = useData(
    async (signal) => await call("approvals.suggest", { query: {}, signal }),
    [],
  );
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (data === null || data.rules.length === 0) return null;
  return html`
    <section class="card">
      <h2>What people decided</h2>
      <p
        class="soft">Of ${data
          .requests} requests in the last 30 days. Nothing here is applied by itself.</p>
      <ul class="entries">
        ${data.rules.map((rule) => html`<${RuleView} key=${rule.rule_id} rule=${rule} />`)}
      </ul>
    </section>
  `;
}

function RuleView({ rule }: { readonly rule: RuleSuggestions["rules"][number] }) {
  const { rule_id, held, approved, rejected, expired, slowest_seconds, proposal } = rule;
  const always = approved === held && slowest_seconds !== null;
  const said = always
    ? `held ${held} commands, all approved, the slowest after ${
      durationOf(slowest_seconds * 1_000)
    }`
    : `held ${held} commands: ${approved} approved, ${rejected} rejected, ${expired} without a decision`;
  return html`
    <li>
      <p><code>${rule_id}</code> ${said}.</p>
      ${proposal !== null && html`
        <details>
          <summary>Allow exactly the lines that were always approved</summary>
          <p>Review this policy and commit it to the repository of your policies.</p>
          <${Copy} label="Copy the policy"
            text=${JSON.stringify({ name: "always-approved", ...proposal }, null, 2)} />
        </details>
      `}
    </li>
  `;
}
