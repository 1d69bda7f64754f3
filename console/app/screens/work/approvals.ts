import { type Approval, type ApprovalStatus, call } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { Name, useNames } from "../../components/names.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time, TimeLeft } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../pages.ts";
import { addressOf, query, setQuery } from "../../router.ts";
import { may } from "../../session.ts";

const COLUMNS: readonly Column<Approval>[] = [
  {
    title: "Command",
    width: "minmax(12rem, 3fr)",
    cell: ({ command, pid }) =>
      html`<a class="mono" href=${addressOf(`/approvals/${pid}`)}>${onOneLine(command)}</a>`,
  },
  {
    title: "State",
    width: "10rem",
    cell: ({ status, expires_at, resolved_at }) =>
      status === "pending" ? html`<${TimeLeft} until=${expires_at} after=" left" />` : html`
        <${Badge} state=${status} />
        <${Time} at=${resolved_at ?? expires_at} />
      `,
  },
  {
    title: "Why it is held",
    width: "minmax(10rem, 2fr)",
    wideOnly: true,
    cell: ({ shield_result: { explanation } }) => onOneLine(explanation),
  },
  {
    title: "Risk",
    width: "4rem",
    wideOnly: true,
    cell: ({ shield_result }) => shield_result.risk_score,
  },
  {
    title: "On",
    width: "minmax(6rem, 1fr)",
    cell: ({ agent_id, agents }) =>
      agent_id === null ? `${agents?.count} agents` : html`<${Name} id=${agent_id} />`,
  },
  {
    title: "Asked by",
    width: "minmax(8rem, 1fr)",
    cell: ({ requested_by }) => html`<${Name} id=${requested_by} />`,
  },
  {
    title: "Votes",
    width: "4rem",
    wideOnly: true,
    cell: ({ decisions, required }) =>
      `${decisions.filter(({ decision }) => decision === "approved").length}/${required}`,
  },
];

const STATES = [
  ["", "Waiting"],
  ["approved", "Approved"],
  ["rejected", "Rejected"],
  ["expired", "Expired"],
  ["all", "All"],
] as const;

/** The requests for approval: first those that wait, oldest first. */
export default function Approvals() {
  const { status = "" } = query.value;
  useNames();
  const list = usePages(
    async (from, signal) => {
      const { approvals, pagination } = await call("approvals.list", {
        query: {
          limit: 100,
          offset: Number(from ?? 0),
          status: status === "all" ? undefined : (status || "pending") as ApprovalStatus,
          order: status === "" ? "oldest" : "newest",
        },
        signal,
      });
      return offsetPage(approvals, pagination);
    },
    [status],
    { types: ["approval"] },
  );
  return html`
    <div class="title">
      <h1>Approvals</h1>
    </div>
    <div class="filters">
      <label>State
        <select value=${status}
          onChange=${(event: Event) =>
            setQuery({ status: (event.target as HTMLSelectElement).value })}>
          ${STATES.map(([value, words]) => html`<option value=${value}>${words}</option>`)}
        </select>
      </label>
    </div>
    <${Table}
      label="Approvals" list=${list} columns=${COLUMNS} keyOf=${({ pid }: Approval) => pid}
      opens=${({ pid }: Approval) => `/approvals/${pid}`}
      empty=${html`
        <${Empty} title=${status === "" ? "Nothing waits for approval" : "No such requests"}>
          ${status === "" && html`
            <p>
              The shield holds risky commands here until people decide. Those that wait appear by
              themselves. ${may("agents:write") &&
                html`<a href=${addressOf("/run")}>Run a command</a>`}
            </p>
          `}
        <//>
      `}
    />
  `;
}
