import { call, type ReadApproval } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { CommandRun } from "../../../components/command_run.ts";
import { Failure } from "../../../components/states.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";
import { may } from "../../../session.ts";

/** What came of a request: the command's output, live. */
export function Result({ approval: { status, agent_id, command_id } }: {
  readonly approval: ReadApproval;
}) {
  if (status !== "approved" || !may("agents:read")) return null;
  return html`
    <section class="card" aria-label="Result">
      <h2>Result</h2>
      ${agent_id === null
        ? html`<${FleetResult} id=${command_id} />`
        : html`<${CommandRun} agentId=${agent_id} commandId=${command_id} label="Output" status="queued" />`}
    </section>
  `;
}

function FleetResult({ id }: { readonly id: string }) {
  const { data, error, again } = useData(
    (signal) => call("fleet_commands.get", { params: { id }, query: { limit: 1 }, signal }),
    [id],
    { types: ["fleet_command", "command"] },
  );
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  return html`
    <p role="status">
      ${data !== null &&
        Object.entries(data.counts).map(([status, n]) =>
          n > 0 && html`<span><${Badge} state=${status} /> ${n} </span>`
        )}
    </p>
    <p><a href=${addressOf(`/fleet/${id}`)}>Open the fleet command</a></p>
  `;
}
