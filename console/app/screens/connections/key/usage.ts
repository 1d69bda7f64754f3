import { call } from "../../../api.ts";
import { Chart } from "../../../components/chart.ts";
import { SelectField } from "../../../components/inputs.ts";
import { Name } from "../../../components/names.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { useRepeat } from "../../../repeat.ts";
import { query, setQuery } from "../../../router.ts";

const PERIODS = [["24h", "24 hours"], ["7d", "7 days"], ["30d", "30 days"], ["90d", "90 days"]];
const SERIES = [
  { name: "requests", tone: "busy" },
  { name: "MCP calls", tone: "good" },
  { name: "refused by a limit", tone: "bad" },
] as const;

/** Uses change no record, so no message announces them. */
const COUNTED_MS = 15_000;

/** How much a key is used, as a chart. */
export function KeyUsage({ id }: { readonly id: string }) {
  const period = PERIODS.find(([value]) => value === query.value.period)?.[0] ?? "7d";
  const { data, error, again } = useData(
    (signal) => call("api_keys.usage", { params: { id }, query: { period }, signal }),
    [id, period],
  );
  useRepeat(true, COUNTED_MS, again);
  const byHour = period === "24h";
  const words = new Intl.DateTimeFormat(
    undefined,
    byHour
      ? { hour: "numeric", minute: "2-digit" }
      : { month: "short", day: "numeric", timeZone: "UTC" },
  );
  return html`
    <section class="card" aria-label="Usage">
      <h2>Usage</h2>
      <${SelectField} label="Period" value=${period} options=${PERIODS}
        onChange=${(period: string) => setQuery({ period })} />
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      ${data !== null && html`
        <${Chart} kind="bars" title=${byHour ? "By hour" : "By day (UTC)"} unit="requests"
          series=${SERIES} points=${data.series.map((
            { from, requests, mcp_calls, rate_limit_hits },
          ) => ({
            at: words.format(Date.parse(from)),
            values: [requests, mcp_calls, rate_limit_hits],
          }))} />
        <p>
          ${data.total_requests} requests, ${data.total_mcp_calls} MCP calls,${" "}
          ${data.rate_limit_hits} refused by a limit.
          ${!data.complete &&
            html`<span class="soft"> The period begins before the figures.</span>`}
        </p>
        <${Top} title="Busiest endpoints" rows=${data.top_endpoints.map((
          { endpoint, calls },
        ) => [endpoint, calls])} />
        <${Top} title="Busiest agents" rows=${data.top_agents.map((
          { agent_id, requests },
        ) => [agent_id, requests])} />
      `}
    </section>
  `;
}

function Top({ title, rows }: {
  readonly title: string;
  readonly rows: readonly (readonly [string, number])[];
}) {
  if (rows.length === 0) return null;
  return html`
    <h3>${title}</h3>
    <dl class="facts counts">
      ${rows.map(([name, count]) =>
        html`
          <dt class="mono">
            <${Name} id=${name} linked />
          </dt>
          <dd>${count}</dd>
        `
      )}
    </dl>
  `;
}
