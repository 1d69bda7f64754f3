import { call, type ListedCommand } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { Name } from "../../../components/names.ts";
import { Empty } from "../../../components/states.ts";
import { type Column, Table } from "../../../components/table.ts";
import { durationOf } from "../../../components/duration.ts";
import { Time } from "../../../components/time.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { usePages } from "../../../pages.ts";
import { addressOf } from "../../../router.ts";

const SHOWN = 10;

const COLUMNS: readonly Column<ListedCommand>[] = [
  {
    title: "Command",
    width: "minmax(12rem, 4fr)",
    cell: ({ command_id, command }) =>
      html`<a href=${addressOf(`/commands/${command_id}`)}><code>${onOneLine(command)}</code></a>`,
  },
  { title: "State", width: "10rem", cell: ({ status }) => html`<${Badge} state=${status} />` },
  {
    title: "Asked by",
    width: "minmax(8rem, 1fr)",
    wideOnly: true,
    cell: ({ actor }) => html`<${Name} id=${actor} />`,
  },
  {
    title: "Took",
    width: "7rem",
    wideOnly: true,
    cell: ({ duration_ms }) => durationOf(duration_ms),
  },
  { title: "When", width: "8rem", cell: ({ created_at }) => html`<${Time} at=${created_at} />` },
];

/** The agent's newest commands. */
export function AgentCommands({ agentId }: { readonly agentId: string }) {
  const list = usePages(
    async (_from, signal) => {
      const answer = await call("commands.of_agent", {
        params: { id: agentId },
        query: { limit: SHOWN },
        signal,
      });
      return { rows: answer.commands, next: null };
    },
    [agentId],
    { types: ["command"] },
  );
  return html`
    <section class="card">
      <h2>Last commands</h2>
      <${Table}
        label="Last commands" list=${list} columns=${COLUMNS}
        keyOf=${({ command_id }: ListedCommand) => command_id}
        opens=${({ command_id }: ListedCommand) => `/commands/${command_id}`}
        empty=${html`<${Empty} title="It has run no command yet" />`}
      />
      <p><a href=${addressOf("/commands", { agent_id: agentId })}>All its commands</a></p>
    </section>
  `;
}
