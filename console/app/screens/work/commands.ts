import { call, type CommandStatus, type ListedCommand, type Verdict } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { endOf } from "../../components/command/command_run.ts";
import { ChoiceFilter, TextFilter, WholeTextFilter } from "../../components/filters.ts";
import { Name, useNames } from "../../components/names.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { VerdictBadge } from "../../components/verdict.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { type Page, usePages } from "../../pages.ts";
import { addressOf, query } from "../../router.ts";
import { may } from "../../session.ts";
import { COMMAND_STATES } from "./command/states.ts";
import { InstantFilter } from "../../components/instants.ts";
import { ActorFilter } from "./command/filters.ts";

const COLUMNS: readonly Column<ListedCommand>[] = [
  {
    title: "Command",
    width: "minmax(10rem, 4fr)",
    cell: ({ command_id, command }) =>
      html`<a class="mono" href=${addressOf(`/commands/${command_id}`)}>${onOneLine(command)}</a>`,
  },
  { title: "State", width: "9rem", cell: ({ status }) => html`<${Badge} state=${status} />` },
  {
    title: "Agent",
    width: "minmax(5rem, 1fr)",
    cell: ({ agent_id }) => html`<${Name} id=${agent_id} linked />`,
  },
  {
    title: "Verdict",
    width: "8rem",
    wideOnly: true,
    cell: ({ verdict }) => html`<${VerdictBadge} verdict=${verdict} />`,
  },
  {
    title: "Asked by",
    width: "minmax(6rem, 1fr)",
    wideOnly: true,
    cell: ({ actor }) => html`<${Name} id=${actor} />`,
  },
  {
    title: "End",
    width: "8rem",
    wideOnly: true,
    cell: (listed) => endOf({ ...listed, reason: null }).replace("exit code", "exit"),
  },
  { title: "When", width: "6rem", cell: ({ created_at }) => html`<${Time} at=${created_at} />` },
];

const VERDICTS = ["allow", "approve", "deny"] as const;

const PAGE = 100;
/** With filters the relay may answer pages without rows; so many of these are read at once. */
const EMPTY_PAGES_MAX = 20;

/** All commands, newest first. */
export default function Commands() {
  const filters = query.value;
  useNames();
  const list = usePages(
    (from, signal) => load(filters, from, signal),
    [JSON.stringify(filters)],
    { types: ["command"] },
  );
  // The search stopped at a page without rows, which scrolling does not continue.
  const isCut = list.rows !== null && list.hasMore && list.rows.length < PAGE;
  const isFiltered = Object.keys(filters).some((name) => name !== "space");
  return html`
    <div class="title">
      <h1>Commands</h1>
      ${may("agents:write") && html`
        <a class="button primary" href=${addressOf("/run")}>Run a command</a>
      `}
    </div>
    <div class="filters">
      <${TextFilter} name="text" label="Text" placeholder="systemctl" />
      <${WholeTextFilter} name="agent_id" label="Agent" placeholder="web-1" />
      <${ChoiceFilter} name="status" label="State" choices=${COMMAND_STATES} />
      <${ChoiceFilter} name="verdict" label="Verdict" choices=${VERDICTS} />
      <${ActorFilter} />
      <${InstantFilter} name="start_time" label="From" />
      <${InstantFilter} name="end_time" label="Until" />
    </div>
    <${Table}
      label="Commands" list=${list} columns=${COLUMNS}
      keyOf=${({ command_id }: ListedCommand) => command_id}
      opens=${({ command_id }: ListedCommand) => `/commands/${command_id}`}
      empty=${list.hasMore ? null : html`
        <${Empty} title=${isFiltered ? "No such commands" : "No commands yet"}
          command=${isFiltered ? undefined : "relay exec web-1 -- uname -a"} />
      `}
    />
    ${isCut && html`
      <p class="actions">
        <span class="soft">Older commands were not searched yet.</span>
        <button type="button" onClick=${() => list.see(0, list.rows!.length)}>
          Search further back
        </button>
      </p>
    `}
  `;
}

async function load(
  filters: Readonly<Record<string, string>>,
  from: string | null,
  signal: AbortSignal,
): Promise<Page<ListedCommand>> {
  const { status, agent_id, text, verdict, actor, start_time, end_time } = filters;
  let cursor = from ?? undefined;
  for (let n = 1;; n++) {
    const page = await call("commands.list", {
      query: {
        limit: PAGE,
        cursor,
        agent_id,
        text,
        actor,
        start_time,
        end_time,
        status: status as CommandStatus | undefined,
        verdict: verdict as Verdict | undefined,
      },
      signal,
    });
    if (page.commands.length > 0 || page.cursor === null || n === EMPTY_PAGES_MAX) {
      return { rows: page.commands, next: page.cursor };
    }
    cursor = page.cursor;
  }
}
