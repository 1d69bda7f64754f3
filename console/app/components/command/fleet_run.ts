import { useState } from "preact/hooks";
import { call, type CommandStatus, type FleetCommandPage, type FleetMember } from "../../api.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { usePages } from "../../pages.ts";
import { addressOf } from "../../router.ts";
import { may } from "../../session.ts";
import { Badge } from "../badge.ts";
import { CommandRun, endOf } from "./command_run.ts";
import { ChangeError, useChange } from "../form.ts";
import { Failure, Loading } from "../states.ts";
import { onOneLine } from "../visible_text.ts";

const STALE = { types: ["fleet_command", "command"] };
const PAGE = 50;
/** With so few agents, all outputs are shown at once. */
const SHOWN_AT_ONCE = 4;

/** A fleet command: its totals, and its agents with their output on demand. */
export function FleetRun({ id, status = "", opens = true }: {
  readonly id: string;
  /** Only commands with this state. */
  readonly status?: string;
  readonly opens?: boolean;
}) {
  const { data, error, again } = useData(
    (signal) => call("fleet_commands.get", { params: { id }, query: { limit: 1 }, signal }),
    [id],
    STALE,
  );
  const failure = error !== null && html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return failure || html`<${Loading} />`;
  return html`
    ${failure}
    <${Totals} fleet=${data} opens=${opens} />
    <${Members} id=${id} status=${status} total=${data.total} />
  `;
}

/** How many commands have which state, what holds them, and how to stop them. */
function Totals({ fleet, opens }: { readonly fleet: FleetCommandPage; readonly opens: boolean }) {
  const { id, approvals, counts, status, stopped } = fleet;
  const change = useChange();
  const cancel = () =>
    change.run(() => call("fleet_commands.cancel", { params: { id }, body: {} }));
  return html`
    <p class="actions" role="status">
      <${Badge} state=${status} />
      ${Object.entries(counts).map(([state, n]) =>
        n > 0 && html`<span key=${state}>${n} ${state.replaceAll("_", " ")}</span>`
      )}
      ${opens && html`<a href=${addressOf(`/fleet/${id}`)}>Details</a>`}
      ${status === "running" && stopped === null && may("agents:write") && html`
        <button type="button" disabled=${change.isBusy} onClick=${cancel}>Cancel all</button>
      `}
    </p>
    ${stopped !== null && html`
      <p class="warn">No further command starts: ${stopped.reason.replaceAll("_", " ")}.</p>
    `}
    ${counts.pending_approval !== undefined && counts.pending_approval > 0 &&
      approvals.map((pid) =>
        html`
          <p key=${pid}>
            <a href=${addressOf(`/approvals/${pid}`)}>Open the request for approval</a>
          </p>
        `
      )}
    <${ChangeError} change=${change} />
  `;
}

/** The agents' commands, page by page. */
function Members({ id, status, total }: {
  readonly id: string;
  readonly status: string;
  readonly total: number;
}) {
  const list = usePages(
    async (from, signal) => {
      const { commands, cursor } = await call("fleet_commands.get", {
        params: { id },
        query: {
          limit: PAGE,
          cursor: from ?? undefined,
          status: (status || undefined) as CommandStatus | undefined,
        },
        signal,
      });
      return { rows: commands, next: cursor };
    },
    [id, status],
    STALE,
  );
  const { rows, error, hasMore } = list;
  const failure = error !== null && html`<${Failure} error=${error} again=${list.again} />`;
  if (rows === null) return failure || html`<${Loading} />`;
  return html`
    ${failure}
    <ul class="members">
      ${rows.map((member) =>
        html`<${Member} key=${member.command_id} member=${member} isOpen=${
          total <= SHOWN_AT_ONCE
        } />`
      )}
    </ul>
    ${rows.length === 0 && html`<p class="soft">No command has this state.</p>`}
    ${hasMore && html`
      <button type="button" onClick=${() => list.see(0, rows.length)}>Show more agents</button>
    `}
  `;
}

function Member({ member, isOpen }: { readonly member: FleetMember; readonly isOpen: boolean }) {
  const [shows, setShows] = useState(isOpen);
  const { agent_id, agent_name, command_id, status } = member;
  const name = onOneLine(agent_name ?? agent_id);
  return html`
    <li>
      <details open=${shows} onToggle=${(event: Event) =>
        setShows((event.target as HTMLDetailsElement).open)}>
        <summary>
          <strong>${name}</strong> <${Badge} state=${status} />
          ${" "}<span class="soft">${endOf(member)}</span>
        </summary>
        ${shows && html`
          <${CommandRun} agentId=${agent_id} commandId=${command_id} status=${status}
            label=${`Output on ${name}`} isPart />
        `}
      </details>
    </li>
  `;
}
