import { call, type Guard } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { Time } from "../../../components/time.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";

/** Which policy holds for the agent, and whether the agent holds it. */
export function GuardCard({ agentId }: { readonly agentId: string }) {
  const { data, error, again } = useData(
    (signal) => call("gitops.guard", { params: { agent_id: agentId }, signal }),
    [agentId],
    { types: ["agent", "policy", "shield"] },
  );
  return html`
    <section class="card">
      <h2>Policy held</h2>
      ${error !== null
        ? html`<${Failure} error=${error} again=${again} />`
        : data === null
        ? html`<${Loading} />`
        : html`<${Facts} guard=${data} />`}
      <p><a href=${addressOf(`/policies/agents/${agentId}`)}>Its guard and backups</a></p>
    </section>
  `;
}

function Facts({ guard: { mode, policy, verdict_check, last_canary } }: { readonly guard: Guard }) {
  const { applied, confirmed, in_sync } = policy;
  return html`
    <dl class="facts">
      <dt>Shield</dt>
      <dd>${mode}</dd>
      <dt>Policies that apply</dt>
      <dd>${applied === null ? "none" : html`<code>${onOneLine(applied)}</code>`}</dd>
      <dt>The agent has</dt>
      <dd>
        ${confirmed === null ? "none" : html`<code>${onOneLine(confirmed)}</code>`}${" "}
        <${Badge} state=${in_sync ? "in sync" : "not in sync"} tone=${in_sync ? "good" : "warn"} />
      </dd>
      <dt>Signatures of orders</dt>
      <dd>${SAYS[verdict_check.state]}${verdict_check.last_refusal !== null &&
        html`: ${onOneLine(verdict_check.last_refusal)}`}</dd>
      <dt>Canary</dt>
      <dd>
        ${last_canary === null ? "never tried" : html`
          <${Badge} state=${last_canary.status} />
          <${Time} at=${last_canary.at} />
        `}
      </dd>
    </dl>
  `;
}

const SAYS: Readonly<Record<Guard["verdict_check"]["state"], string>> = {
  verifying: "The agent verifies them",
  refusing: "The agent refused an order",
  unknown: "Not known while it is not connected",
};
