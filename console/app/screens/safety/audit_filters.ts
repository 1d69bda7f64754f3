import { useId } from "preact/hooks";
import type { AuditResult, Operations, ResourceType } from "../../../../core/client/client.ts";
import { ChoiceFilter, WholeTextFilter } from "../../components/filters.ts";
import { names } from "../../components/names.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { query, setQuery } from "../../router.ts";

export type AuditQuery = NonNullable<Operations["audit.export"]["query"]>;

/** Filters that are shown only when asked for, or in use. */
const MORE = [
  "actor",
  "agent_id",
  "resource_type",
  "resource_id",
  "thread",
  "start_time",
  "end_time",
] as const;

/** The names that the API and the address of the screen give to the filters. */
const FILTERS = [
  "text",
  "event_type",
  "result",
  ...MORE,
] as const satisfies readonly (keyof AuditQuery)[];

const RESULTS: readonly AuditResult[] = ["success", "failure", "denied"];
const RESOURCE_TYPES: Readonly<Record<ResourceType, true>> = {
  account: true,
  agent: true,
  alert: true,
  alert_source: true,
  api_key: true,
  approval: true,
  audit_log: true,
  backup: true,
  command: true,
  configuration: true,
  device: true,
  endpoint: true,
  external: true,
  fleet_command: true,
  ingest_token: true,
  installation: true,
  integration: true,
  invitation: true,
  limits: true,
  mcp_grant: true,
  mcp_session: true,
  notification: true,
  organization: true,
  pairing_code: true,
  plan: true,
  policy: true,
  report: true,
  repository: true,
  restore: true,
  role: true,
  session: true,
  shield: true,
  telegram_link: true,
  upgrade: true,
  user: true,
  webhook: true,
};

/** The filters in the address. */
export function filtersNow(): AuditQuery {
  const given = FILTERS.map((name) => [name, query.value[name] ?? ""] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

/** True when the log is filtered. */
export const isFiltered = (): boolean => Object.keys(filtersNow()).length > 0;

/** The filters of the audit log. */
export function AuditFilters({ types }: { readonly types: readonly string[] }) {
  const typeList = useId(), nameList = useId();
  const clear = () => setQuery(Object.fromEntries(FILTERS.map((name) => [name, ""])));
  const isOpen = MORE.some((name) => query.value[name] !== undefined);
  return html`
    <div class="filters">
      <${WholeTextFilter} name="text" label="Text in the details" type="search" placeholder="nginx" />
      <${WholeTextFilter} name="event_type" label="Event types" list=${typeList}
        placeholder="command_executed" />
      <${ChoiceFilter} name="result" label="Result" choices=${RESULTS} />
      ${isFiltered() && html`<button type="button" onClick=${clear}>Clear the filters</button>`}
    </div>
    <details class="more" open=${isOpen}>
      <summary>More filters</summary>
      <div class="filters">
        <${WholeTextFilter} name="actor" label="Actor" list=${nameList}
          placeholder="id of a person or key" />
        <${WholeTextFilter} name="agent_id" label="Agent" placeholder="name or id" />
        <${ChoiceFilter} name="resource_type" label="Resource"
          choices=${Object.keys(RESOURCE_TYPES)} />
        <${WholeTextFilter} name="resource_id" label="Id of the resource" />
        <${WholeTextFilter} name="thread" label="Story of an alert" placeholder="id of an alert" />
        <${WholeTextFilter} name="start_time" label="From" placeholder="2026-01-31, UTC" />
        <${WholeTextFilter} name="end_time" label="To" placeholder="2026-01-31T12:00+01:00" />
      </div>
    </details>
    <datalist id=${typeList}>${types.map((type) => html`<option value=${type} />`)}</datalist>
    <datalist id=${nameList}>
      ${[...names.value].map(([id, name]) => html`<option value=${id}>${onOneLine(name)}</option>`)}
    </datalist>
  `;
}
