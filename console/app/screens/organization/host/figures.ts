import { type ActivityFigures, type ActivityRow, call } from "../../../api.ts";
import { Chart, type ChartSeries } from "../../../components/chart.ts";
import { SelectField } from "../../../components/inputs.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { durationOf } from "../../../components/duration.ts";
import { VisibleText } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { useRepeat } from "../../../repeat.ts";
import { query, setQuery } from "../../../router.ts";

/** What a chart shows of each hour or day. */
interface Figure {
  readonly title: string;
  readonly unit: string;
  readonly series: readonly ChartSeries[];
  readonly of: (row: ActivityRow) => readonly number[];
}

const count = (counts: Readonly<Record<string, number>>, ...names: readonly string[]): number =>
  names.reduce((sum, name) => sum + (counts[name] ?? 0), 0);

const FIGURES: readonly Figure[] = [
  {
    title: "Requests",
    unit: "requests",
    series: [
      { name: "fine", tone: "busy" },
      { name: "refused (4xx)", tone: "warn" },
      { name: "failed (5xx)", tone: "bad" },
    ],
    of: (
      { requests, client_errors: refused, server_errors: failed },
    ) => [requests - refused - failed, refused, failed],
  },
  {
    title: "Commands",
    unit: "commands",
    series: [
      { name: "succeeded", tone: "good" },
      { name: "denied", tone: "warn" },
      { name: "failed", tone: "bad" },
    ],
    of: ({ commands }) => [
      count(commands, "succeeded"),
      count(commands, "denied", "rejected", "expired", "cancelled"),
      count(commands, "failed", "timed_out", "lost"),
    ],
  },
  {
    title: "Webhook deliveries",
    unit: "attempts",
    series: [{ name: "succeeded", tone: "good" }, { name: "failed", tone: "bad" }],
    of: (
      { deliveries },
    ) => [count(deliveries, "succeeded"), count(deliveries, "failed", "timed_out")],
  },
];

/** What happened in the whole installation. */
export function Figures() {
  const period = query.value.period === "30d" ? "30d" : "24h";
  const { data, error, again } = useData((signal) => call("dashboard.stats", { signal }), []);
  useRepeat(true, 15_000, again);
  if (data === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  const byHour = period === "24h";
  const words = new Intl.DateTimeFormat(
    undefined,
    byHour
      ? { hour: "numeric", minute: "2-digit" }
      : { month: "short", day: "numeric", timeZone: "UTC" },
  );
  const rows = byHour ? data.by_hour : data.by_day;
  return html`
    <section class="card" aria-label="Figures">
      <h2>Figures of the installation</h2>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      <${SelectField} label="Period" value=${period}
        onChange=${(period: string) => setQuery({ period })}
        options=${[["24h", "24 hours, by hour"], ["30d", "30 days, by day (UTC)"]]} />
      <div class="cards">
        ${FIGURES.map(({ title, unit, series, of }) =>
          html`
            <${Chart} key=${title} kind="bars" title=${title} unit=${unit} series=${series}
              points=${rows.map((row) => ({
                at: words.format(Date.parse(row.start)),
                values: of(row),
              }))} />
          `
        )}
      </div>
      <${Sums} figures=${byHour ? data.last_24_hours : data.last_30_days} />
      <p>
        Agents: ${data.agents.online} online, ${data.agents.degraded} degraded,${" "}
        ${data.agents.offline} offline. Approvals that wait: ${data.approvals_waiting}.
      </p>
    </section>
  `;
}

function Sums({ figures }: { readonly figures: ActivityFigures }) {
  const denials = Object.entries(figures.denials).sort(([, a], [, b]) => b - a).slice(0, 10);
  return html`
    <p>
      ${figures.requests} requests. People decided ${figures
        .approvals_decided} approvals${figures.median_wait_seconds !== null &&
        `, half of them within ${durationOf(figures.median_wait_seconds * 1_000)}`}.
    </p>
    ${denials.length > 0 && html`
      <h3>What denied commands</h3>
      <dl class="facts counts">
        ${denials.map(([rule, n]) =>
          html`
            <dt>
              <${VisibleText} text=${rule} />
            </dt>
            <dd>${n}</dd>
          `
        )}
      </dl>
    `}
  `;
}
