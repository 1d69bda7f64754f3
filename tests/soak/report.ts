import { chartOf, minutes, type Moment } from "./chart.ts";
import type { Point } from "./flat.ts";
import type { Soaked } from "./run.ts";
import { type Findings, SERIES } from "./series.ts";

const COLORS = { "relay killed": "#d33", "agent killed": "#e90", "clock stepped": "#39c" } as const;

/** What the report says at its head. */
interface Head {
  readonly seed: number;
  /** Null when the run was too short to judge the series. */
  readonly findings: Findings | null;
}

/** A page with the verdict, and a chart of each series. */
export function reportOf(soaked: Soaked, { seed, findings }: Head): string {
  const { seconds, samples, marks, faults, jobs, deliveries, cuts } = soaked;
  const lives = [...Map.groupBy(samples, ({ life }) => life).values()];
  const moments = marks.map(({ kind, atS, about }): Moment => ({
    atS,
    about: `${kind}, ${minutes(atS)}: ${about}`,
    color: COLORS[kind],
  }));
  const charts = SERIES.map(({ key, title, unit, bound }) => {
    const points = lives.map((life) => life.map((sample): Point => [sample.atS, sample[key]]));
    const trend = findings?.trends.get(key);
    const said = bound === null
      ? ""
      : trend === undefined
      ? "not judged"
      : `${trend.isFlat ? "flat" : "GROWS"}: ${signed(trend.perHour)} ${unit} an hour, ` +
        `${signed(trend.grown)} ${unit} while watched; allowed: ${bound.perHour} an hour, ` +
        `or ${bound.atLeast} in all`;
    const picture = chartOf(points, seconds, moments);
    return `<h2>${title}${unit && `, ${unit}`}</h2><p>${said}</p>${picture}`;
  });
  const bytes = findings?.bytesPerEvent.map((n) => n.toFixed(0));
  const all = [...faults, ...findings?.faults ?? []];
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Soak</title>
<style>
body { font: 14px system-ui; max-width: 760px; margin: 2em auto; }
h2 { font-size: 15px; margin: 1.2em 0 0; } p { margin: 0.2em 0; }
svg text { font: 10px system-ui; fill: #666; } .grid { stroke: #ddd; }
polyline { fill: none; stroke: #246; stroke-width: 1.5; }
td { padding-right: 2em; }
</style>
<h1>${
    all.length === 0 ? "The soak found nothing wrong" : `The soak found ${all.length} faults`
  }</h1>
<p>${
    minutes(seconds)
  } minutes, seed ${seed}, ${samples.length} samples, streams cut off ${cuts} times.
${findings === null ? "The run was too short to judge the series." : ""}</p>
<p>${
    bytes === undefined
      ? ""
      : `Bytes of the store file for each row of the audit log: ${bytes[0]} in the first third, ` +
        `${bytes[1]} in the last.`
  }</p>
<p>Vertical lines: <span style="color:#d33">relay killed</span>,
<span style="color:#e90">agent killed</span>, <span style="color:#39c">clock stepped</span>.</p>
<ul>${all.map((fault) => `<li>${escaped(fault)}</li>`).join("\n")}</ul>
${charts.join("\n")}
<h2>Deliveries</h2>${tableOf(Object.entries(deliveries))}
<h2>What was done</h2>${tableOf([...jobs])}
<h2>Disturbances</h2>${
    tableOf(marks.map(({ kind, atS, about }) => [minutes(atS), `${kind}: ${about}`]))
  }
</html>
`;
}

const signed = (n: number) => `${n < 0 ? "−" : "+"}${Math.abs(n).toFixed(1)}`;

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

const tableOf = (rows: readonly (readonly [string, string | number])[]) =>
  `<table>${
    rows.map((row) => `<tr>${row.map((cell) => `<td>${escaped(`${cell}`)}</td>`).join("")}</tr>`)
      .join("\n")
  }</table>`;
