import { type Alert, type AlertState, call, type Severity } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ChoiceFilter, TextFilter, WholeTextFilter } from "../../components/filters.ts";
import { Name, useNames } from "../../components/names.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../pages.ts";
import { addressOf, query } from "../../router.ts";

const COLUMNS: readonly Column<Alert>[] = [
  {
    title: "Alert",
    width: "minmax(10rem, 3fr)",
    cell: ({ alert_id, name }) =>
      html`<a href=${addressOf(`/alerts/${alert_id}`)}>${onOneLine(name)}</a>`,
  },
  {
    title: "Severity",
    width: "6rem",
    cell: ({ severity }) => html`<${Badge} state=${severity} />`,
  },
  {
    title: "State",
    width: "8rem",
    cell: (alert) => html`<${Badge} state=${stateOf(alert)} tone=${toneOf(alert)} />`,
  },
  {
    title: "Source",
    width: "minmax(6rem, 1fr)",
    wideOnly: true,
    cell: ({ source }) => onOneLine(source),
  },
  {
    title: "Agent",
    width: "minmax(6rem, 1fr)",
    cell: ({ agent_id }) => agent_id === null ? "" : html`<${Name} id=${agent_id} />`,
  },
  {
    title: "Reports",
    width: "5rem",
    wideOnly: true,
    cell: ({ count }) => count.toLocaleString(),
  },
  {
    title: "Last seen",
    width: "7rem",
    cell: ({ last_seen_at }) => html`<${Time} at=${last_seen_at} />`,
  },
];

/** Colours say what needs somebody, so an active alert is not good. */
export const toneOf = (alert: Alert) =>
  ({ active: "bad", acknowledged: "warn", resolved: "good" } as const)[stateOf(alert)];

/** What people call the state of an alert: somebody may look after an active one already. */
export const stateOf = ({ state, acknowledged_by }: Alert): AlertState | "acknowledged" =>
  state === "active" && acknowledged_by !== null ? "acknowledged" : state;

const LIMIT = 200;

/** Alerts of one state, newest first. */
export default function Alerts() {
  useNames();
  const { state = "", severity = "", source = "", text = "" } = query.value;
  const list = usePages(
    async (from, signal) => {
      const { alerts, pagination } = await call("alerts.list", {
        query: {
          limit: LIMIT,
          offset: Number(from ?? 0),
          state: (state || undefined) as AlertState | undefined,
          severity: (severity || undefined) as Severity | undefined,
          source: source || undefined,
          text: text || undefined,
        },
        signal,
      });
      return offsetPage(alerts, pagination);
    },
    [state, severity, source, text],
    { types: ["alert", "alert_source"] },
  );
  const isFiltered = [state, severity, source, text].some((value) => value !== "");
  return html`
    <div class="title">
      <h1>Alerts</h1>
    </div>
    <div class="filters">
      <${TextFilter} name="text" label="Text" placeholder="name, source or summary" />
      <${ChoiceFilter} name="state" label="State" all="active" choices=${["resolved"]} />
      <${ChoiceFilter} name="severity" label="Severity"
        choices=${["critical", "warning", "info"]} />
      <${WholeTextFilter} name="source" label="Source" placeholder="shield, alertmanager…" />
    </div>
    <${Table}
      label="Alerts" list=${list} columns=${COLUMNS} keyOf=${({ alert_id }: Alert) => alert_id}
      opens=${({ alert_id }: Alert) => `/alerts/${alert_id}`}
      empty=${isFiltered ? html`<${Empty} title="No alert matches these filters" />` : html`
        <${Empty} title="No active alerts">
          <p>
            The shield raises an alert when it denies a command. Other systems report to Relay
            with an ingest token, such as Alertmanager.
          </p>
          <//>
      `}
    />
  `;
}
