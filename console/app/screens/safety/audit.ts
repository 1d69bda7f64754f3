import { type AuditEvent, call } from "../../api.ts";
import { Empty } from "../../components/states.ts";
import { Name, useNames } from "../../components/names.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { usePages } from "../../pages.ts";
import { addressOf } from "../../router.ts";
import { AuditExport } from "./audit_export.ts";
import { AuditFilters, filtersNow, isFiltered } from "./audit_filters.ts";
import { AuditHead } from "./audit_head.ts";

const COLUMNS: readonly Column<AuditEvent>[] = [
  {
    title: "Event",
    width: "minmax(12rem, 2fr)",
    cell: ({ event_id, event_type }) =>
      html`<a href=${addressOf(`/audit/${event_id}`)}>${onOneLine(event_type)}</a>`,
  },
  {
    title: "Actor",
    width: "minmax(8rem, 2fr)",
    cell: ({ actor }) => html`<${Name} id=${actor} />`,
  },
  {
    title: "Resource",
    width: "minmax(8rem, 2fr)",
    wideOnly: true,
    cell: ({ resource_type, resource_id }) =>
      html`<span class="soft">${
        resource_type.replaceAll("_", " ")
      }</span> <${Name} id=${resource_id} />`,
  },
  { title: "Row", width: "5rem", cell: ({ seq }) => html`<span class="soft">${seq}</span>` },
  { title: "Time", width: "7rem", cell: ({ timestamp }) => html`<${Time} at=${timestamp} />` },
];

/** Reading the log is a row of it too, so the live list reads it at most this often. */
const LIVE_MS = 500;
const LIMIT = 100;

/** The audit log, newest first. New rows appear at the top. */
export default function Audit() {
  useNames();
  const filters = filtersNow();
  const list = usePages(
    async (from, signal) => {
      const { events, cursor } = await call("audit.query", {
        query: { ...filters, limit: LIMIT, cursor: from ?? undefined },
        signal,
      });
      return { rows: events, next: cursor };
    },
    [JSON.stringify(filters)],
    { types: ["audit_log"], everyMs: LIVE_MS },
  );
  const types = [...new Set(list.rows?.map(({ event_type }) => event_type))].sort();
  return html`
    <div class="title">
      <h1>Audit</h1>
      <${AuditExport} />
    </div>
    <${AuditHead} />
    <${AuditFilters} types=${types} />
    <${Table}
      label="Rows of the audit log" list=${list} columns=${COLUMNS}
      keyOf=${({ event_id }: AuditEvent) => event_id}
      opens=${({ event_id }: AuditEvent) => `/audit/${event_id}`}
      empty=${html`
        <${Empty} title=${isFiltered() ? "No row matches these filters" : "The log is empty"} />
      `}
    />
  `;
}
