import { call, type ReadApproval } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { Output, type OutputEnd } from "../../components/output.ts";
import { Failure } from "../../components/states.ts";
import { durationOf } from "../../components/time.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { useState } from "preact/hooks";

/** What came of a request: the command's output, live. */
export function Result({ approval: { status, agent_id, command_id } }: {
  readonly approval: ReadApproval;
}) {
  if (status !== "approved") return null;
  return html`
    <section class="card" aria-label="Result">
      <h2>Result</h2>
      ${agent_id === null
        ? html`<${FleetResult} id=${command_id} />`
        : html`<${CommandResult} key=${command_id} agentId=${agent_id} id=${command_id} />`}
    </section>
  `;
}

function CommandResult({ agentId, id }: { readonly agentId: string; readonly id: string }) {
  const [status, setStatus] = useState("queued");
  const [end, setEnd] = useState<OutputEnd | null>(null);
  return html`
    <p role="status">
      <${Badge} state=${end?.status ?? status} />${" "}
      ${end !== null && endOf(end)}
      ${" "}<a href=${addressOf(`/commands/${id}`)}>Open the command</a>
    </p>
    <${Output} agentId=${agentId} commandId=${id} label="Output" onStatus=${setStatus}
      onEnd=${setEnd} />
  `;
}

/** How a command ended, in words. */
export function endOf({ exit_code, signal, reason, duration_ms }: OutputEnd): string {
  const how = exit_code !== null ? `exit code ${exit_code}` : reason ?? signal ?? "";
  return [how, durationOf(duration_ms)].filter((part) => part !== "").join(", ");
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
