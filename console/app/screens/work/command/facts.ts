import { html } from "htm/preact";
import type { ListedCommand } from "../../../../../core/client/client.ts";
import { Name } from "../../../components/names.ts";
import { durationOf } from "../../../components/duration.ts";
import { ExactTime } from "../../../components/time.ts";
import { VisibleText } from "../../../components/visible_text.ts";
import { addressOf } from "../../../router.ts";

/** Who ran a command, where, when and how it ended. */
export function Facts({ listed }: { readonly listed: ListedCommand }) {
  const { actor, agent_id, approval_id, command_id, duration_ms, exit_code, parent_id, reason } =
    listed;
  const { created_at, finished_at, signal, started_at, truncated } = listed;
  return html`
    <dl class="facts">
      <dt>Agent</dt><dd><${Name} id=${agent_id} linked /></dd>
      <dt>Asked by</dt><dd><${Name} id=${actor} linked /></dd>
      <dt>Asked at</dt><dd><${ExactTime} at=${created_at} /></dd>
      ${started_at !== null && html`
        <dt>Started</dt>
        <dd>
          <${ExactTime} at=${started_at} />
        </dd>
      `}
      ${finished_at !== null && html`
        <dt>Ended</dt>
        <dd>
          <${ExactTime} at=${finished_at} />
        </dd>
      `}
      ${duration_ms !== null && html`
        <dt>Took</dt>
        <dd>${durationOf(duration_ms)}</dd>
      `}
      ${exit_code !== null && html`
        <dt>Exit code</dt>
        <dd>${exit_code}</dd>
      `}
      ${signal !== null && html`
        <dt>Signal</dt>
        <dd>${signal}</dd>
      `}
      ${reason !== null && html`
        <dt>Reason</dt>
        <dd>
          <${VisibleText} text=${reason} />
        </dd>
      `}
      ${truncated && html`
        <dt>Output</dt>
        <dd>only a part was kept</dd>
      `}
      ${approval_id !== null && html`
        <dt>Approval</dt>
        <dd>
          <a href=${addressOf(`/approvals/${approval_id}`)}>${approval_id}</a>
        </dd>
      `}
      ${parent_id !== undefined && html`
        <dt>Fleet command</dt>
        <dd>
          <a href=${addressOf(`/fleet/${parent_id}`)}>${parent_id}</a>
        </dd>
      `}
      <dt>Id</dt><dd><code>${command_id}</code></dd>
    </dl>
  `;
}
