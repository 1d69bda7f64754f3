import { type Agent, type AgentStatus, call } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ChoiceFilter, TextFilter } from "../../components/filters.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "../../html.ts";
import { offsetPage, usePages } from "../../pages.ts";
import { addressOf, query } from "../../router.ts";

const COLUMNS: readonly Column<Agent>[] = [
  {
    title: "Name",
    width: "minmax(10rem, 2fr)",
    cell: ({ id, name }) => html`<a href=${addressOf(`/agents/${id}`)}>${onOneLine(name)}</a>`,
  },
  { title: "State", width: "7rem", cell: ({ status }) => html`<${Badge} state=${status} />` },
  {
    title: "Labels",
    width: "minmax(8rem, 2fr)",
    cell: ({ labels }) =>
      Object.entries(labels).map(([key, value]) =>
        html`
          <span class="label">${onOneLine(`${key}=${value}`)}</span>
        `
      ),
  },
  {
    title: "Version",
    width: "8rem",
    wideOnly: true,
    cell: ({ version, outdated }) =>
      html`${version}${
        outdated && html`
          <span class="soft">outdated</span>
        `
      }`,
  },
  {
    title: "Last seen",
    width: "8rem",
    cell: ({ last_seen_at }) => html`<${Time} at=${last_seen_at} />`,
  },
];

/** All agents. */
export default function Agents() {
  const { status = "", label = "" } = query.value;
  const list = usePages(
    async (from, signal) => {
      const { agents, pagination } = await call("agents.list", {
        query: {
          limit: 200,
          offset: Number(from ?? 0),
          status: (status || undefined) as AgentStatus | undefined,
          label: label || undefined,
        },
        signal,
      });
      return offsetPage(agents, pagination);
    },
    [status, label],
    { types: ["agent"] },
  );
  return html`
    <div class="title">
      <h1>Agents</h1>
      <a class="button primary" href=${addressOf("/agents/add")}>Add a machine</a>
    </div>
    <div class="filters">
      <${ChoiceFilter} name="status" label="State" choices=${["online", "degraded", "offline"]} />
      <${TextFilter} name="label" label="Label" placeholder="env=prod" />
    </div>
    <${Table}
      label="Agents" list=${list} columns=${COLUMNS} keyOf=${({ id }: Agent) => id}
      opens=${({ id }: Agent) => `/agents/${id}`}
      empty=${html`<${Empty} title="No agents" command="relay pair" />`}
    />
  `;
}
