import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { may } from "../../session.ts";
import { Badge } from "../badge.ts";
import { ChangeError, useChange } from "../form.ts";
import { Output, type OutputEnd } from "./output.ts";
import { durationOf } from "../duration.ts";
import { onOneLine } from "../visible_text.ts";

const OPEN = ["pending_approval", "queued", "running"];

/** A command that waits, runs or has ended: its state and its output, live, with what can be done about it. */
export function CommandRun(
  { agentId, commandId, label, status: first, opens = true, isPart = false }: {
    readonly agentId: string;
    readonly commandId: string;
    /** What the output is of, for screen readers. */
    readonly label: string;
    readonly status: string;
    /** Whether to link to the command's own page. */
    readonly opens?: boolean;
    /** True below a line that says its state, as in a fleet command. */
    readonly isPart?: boolean;
  },
) {
  const [status, setStatus] = useState(first);
  const [approvalId, setApprovalId] = useState<string | null>(null);
  const [end, setEnd] = useState<OutputEnd | null>(null);
  const change = useChange();
  const cancel = () =>
    change.run(() =>
      call("commands.cancel", { params: { id: agentId, command_id: commandId }, body: {} })
    );
  const shown = end?.status ?? status;
  return html`
    <div class="run">
      <p class="actions" role="status">
        ${!isPart && html`<${Badge} state=${shown} />`}
        ${!isPart && end !== null && html`<span>${endOf(end)}</span>`}
        ${!isPart && shown === "pending_approval" && approvalId !== null && html`
          <a href=${addressOf(`/approvals/${approvalId}`)}>Open the request for approval</a>
        `}
        ${opens && html`<a href=${addressOf(`/commands/${commandId}`)}>Details</a>`}
        ${OPEN.includes(shown) && may("agents:write") && html`
          <button type="button" disabled=${change.isBusy} onClick=${cancel}>Cancel</button>
        `}
      </p>
      <${ChangeError} change=${change} />
      <${Output}
        agentId=${agentId} commandId=${commandId} label=${label} onEnd=${setEnd}
        onStatus=${(next: string, approval: string | null) => {
          setStatus(next);
          setApprovalId(approval);
        }}
      />
    </div>
  `;
}

/** How a command ended, in words. */
export function endOf(
  { exit_code, signal, reason, duration_ms }: Omit<OutputEnd, "status" | "truncated">,
): string {
  const how = exit_code !== null ? `exit code ${exit_code}` : onOneLine(reason ?? signal ?? "");
  return [how, durationOf(duration_ms)].filter((part) => part !== "").join(", ");
}
