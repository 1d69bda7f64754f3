import type { ReadApproval } from "../../../../../core/client/client.ts";
import { Name } from "../../../components/names.ts";
import { Story } from "../../../components/story.ts";
import { ExactTime } from "../../../components/time.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";
import { may } from "../../../session.ts";
import { HeldAgents } from "./held_agents.ts";

/** Who asked, from where, and what it would reach. */
export function About({ approval }: { readonly approval: ReadApproval }) {
  const { agent_id, agents, alert_id, command_id, created_at, expires_at, pid, policy_version } =
    approval;
  const { requested_by, requested_also, thread } = approval;
  // People may decide without the right to read agents and commands.
  const mayReadAgents = may("agents:read");
  const to = `/${agent_id === null ? "fleet" : "commands"}/${command_id}`;
  return html`
    <section class="card">
      <h2>Who asked, and what it reaches</h2>
      <dl class="facts">
        <dt>Asked by</dt>
        <dd><${Name} id=${requested_by} linked /> <span class="soft">${credentialOf(
          requested_by,
        )}</span></dd>
        ${requested_also.length > 0 && html`
          <dt>May also be</dt>
          <dd>${requested_also.includes("*")
            ? "anyone: the credential may be known to others"
            : requested_also.map((id, n) => html`${n > 0 && ", "}<${Name} id=${id} />`)}</dd>
        `}
        <dt>Asked at</dt>
        <dd><${ExactTime} at=${created_at} /></dd>
        <dt>Lapses at</dt>
        <dd><${ExactTime} at=${expires_at} /></dd>
        <dt>Runs on</dt>
        <dd>${agent_id === null
          ? html`<strong>${agents?.count} agents</strong>`
          : html`<${Name} id=${agent_id} linked=${mayReadAgents} />, one machine`}</dd>
        <dt>${agent_id === null ? "Fleet command" : "Command"}</dt>
        <dd>${mayReadAgents
          ? html`<a href=${addressOf(to)}>${command_id}</a>`
          : html`<code>${command_id}</code>`}</dd>
        <dt>Shield settings</dt>
        <dd><code>${policy_version}</code></dd>
      </dl>
      ${agent_id === null && mayReadAgents &&
        html`<${HeldAgents} fleetId=${command_id} pid=${pid} />`}
      ${thread !== undefined &&
        html`<${Story} thread=${thread} isAnswer=${alert_id !== undefined} />`}
    </section>
  `;
}

/** What kind of credential an id names. */
function credentialOf(id: string): string {
  const kinds = { usr: "signed in", key: "with this API key", tgl: "in a Telegram chat" };
  return kinds[id.slice(0, id.indexOf("_")) as keyof typeof kinds] ?? "";
}
