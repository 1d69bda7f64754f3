import { useState } from "preact/hooks";
import { type Agent, type AgentStatus, call } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ChoiceFilter, TextFilter } from "../../components/filters.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../pages.ts";
import { addressOf, query } from "../../router.ts";
import { may } from "../../session.ts";

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
      html`${onOneLine(version)}${
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
  const { text = "", status = "", label = "", outdated = "" } = query.value;
  const [total, setTotal] = useState<number | null>(null);
  const list = usePages(
    async (from, signal) => {
      const { agents, pagination } = await call("agents.list", {
        query: {
          limit: 200,
          offset: Number(from ?? 0),
          text: text || undefined,
          status: (status || undefined) as AgentStatus | undefined,
          // While somebody types its key, a label selects nothing yet.
          label: label.indexOf("=") > 0 ? label : undefined,
          outdated: outdated === "" ? undefined : outdated === "yes" ? "true" : "false",
        },
        signal,
      });
      setTotal(pagination.total);
      return offsetPage(agents, pagination);
    },
    [text, status, label, outdated],
    { types: ["agent"] },
  );
  const isFiltered = [text, status, label, outdated].some((filter) => filter !== "");
  return html`
    <div class="title">
      <h1>Agents</h1>
      ${may("agents:admin") && html`
        <a class="button primary" href=${addressOf("/agents/add")}>Add a machine</a>
      `}
    </div>
    <div class="filters">
      <${TextFilter} name="text" label="Name or host" placeholder="web" />
      <${ChoiceFilter} name="status" label="State" choices=${["online", "degraded", "offline"]} />
      <${TextFilter} name="label" label="Label" placeholder="env=prod" />
      <${ChoiceFilter} name="outdated" label="Outdated" choices=${["yes", "no"]} />
      ${total !== null && html`
        <p class="soft count" role="status">${total.toLocaleString()} ${total === 1
          ? "agent"
          : "agents"}</p>
      `}
    </div>
    <${Table}
      label="Agents" list=${list} columns=${COLUMNS} keyOf=${({ id }: Agent) => id}
      opens=${({ id }: Agent) => `/agents/${id}`}
      empty=${isFiltered ? html`<${Empty} title="No agent fits these filters" />` : html`
        <${Empty} title="No agents yet" command=${may("agents:admin") ? "relay pair" : undefined}>
          <p>${may("agents:admin")
            ? "Add a machine here, or with the command line where you are signed in:"
            : "An administrator adds machines."}</p>
          <//>
      `}
    />
  `;
}
