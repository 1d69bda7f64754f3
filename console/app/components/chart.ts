import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "htm/preact";
import { axisFor, shareOf, shortNumber } from "./scale.ts";

type Tone = "busy" | "good" | "bad" | "warn";

/** One of the things that a chart shows at each point. */
export interface ChartSeries {
  readonly name: string;
  readonly tone: Tone;
}

/** A point of a chart: its words, and a value for each series. */
export interface ChartPoint {
  readonly at: string;
  readonly values: readonly number[];
}

interface ChartProps {
  readonly title: string;
  readonly kind: "bars" | "lines";
  readonly series: readonly ChartSeries[];
  readonly points: readonly ChartPoint[];
  /** What the values count, such as `requests` or `ms`. */
  readonly unit: string;
}

const HEIGHT = 180, LEFT = 40, BOTTOM = 22, TOP = 8, RIGHT = 4;
const INNER_HEIGHT = HEIGHT - TOP - BOTTOM;

/** A chart of bars, which are stacked, or lines. Screen readers get it as a table. */
export function Chart({ title, kind, series, points, unit }: ChartProps) {
  const id = useId();
  const svg = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(600);
  useLayoutEffect(() => {
    const measure = () => setWidth(svg.current!.clientWidth || 600);
    const observer = new ResizeObserver(measure);
    observer.observe(svg.current!);
    measure();
    return () => observer.disconnect();
  }, []);
  const largest = points.reduce((most, { values }) => Math.max(most, topOf(kind, values)), 0);
  const axis = axisFor(largest);
  const y = (value: number) => TOP + INNER_HEIGHT * (1 - shareOf(value, axis.end));
  const slot = (width - LEFT - RIGHT) / Math.max(1, points.length);
  const x = (n: number) => LEFT + slot * (n + .5);
  return html`
    <figure class="chart" aria-labelledby=${id}>
      <figcaption id=${id}>
        <strong>${title}</strong>
        ${series.map(({ name, tone }) => html`<span class=${`key ${tone}`}>${name}</span>`)}
      </figcaption>
      <svg ref=${svg} viewBox=${`0 0 ${width} ${HEIGHT}`} aria-hidden="true" focusable="false">
        ${axis.ticks.map((tick) =>
          html`
            <line class="grid" x1=${LEFT} x2=${width - RIGHT} y1=${y(tick)} y2=${y(tick)} />
            <text x=${LEFT - 6} y=${y(tick) + 4} text-anchor="end">${shortNumber(tick)}</text>
          `
        )}
        ${kind === "bars"
          ? points.map((point, n) =>
            html`
              <${Bars} point=${point} series=${series} left=${x(n) - slot * .4} width=${slot *
                .8} y=${y}
                unit=${unit} />
            `
          )
          : series.map(({ tone }, of) =>
            html`<polyline class=${tone} points=${
              points.map(({ values }, n) => `${x(n)},${y(values[of]!)}`).join(" ")
            } />`
          )}
        ${namedPoints(points.length, width).map((n) =>
          html`
            <text x=${x(n)} y=${HEIGHT - 5} text-anchor=${n === 0
              ? "start"
              : n === points.length - 1
              ? "end"
              : "middle"}>${points[n]!.at}</text>
          `
        )}
      </svg>
      <div class="unseen">
        <table>
          <caption>${title}, in ${unit}</caption>
          <thead>
            <tr><th scope="col">When</th>
          ${series.map(({ name }) => html`<th scope="col">${name}</th>`)}</tr>
          </thead>
          <tbody>${points.map(({ at, values }) =>
            html`<tr><th scope="row">${at}</th>${
              values.map((value) => html`<td>${value}</td>`)
            }</tr>`
          )}</tbody>
        </table>
      </div>
    </figure>
  `;
}

function Bars({ point: { at, values }, series, left, width, y, unit }: {
  readonly point: ChartPoint;
  readonly series: readonly ChartSeries[];
  readonly left: number;
  readonly width: number;
  readonly y: (value: number) => number;
  readonly unit: string;
}) {
  let below = 0;
  return html`
    <g>
      <title>${at}: ${values.map((value, n) => `${value} ${series[n]!.name}`).join(
        ", ",
      )} (${unit})</title>
      ${values.map((value, n) => {
        const from = below;
        below += value;
        return html`<rect class=${series[n]!.tone} x=${left} width=${width} y=${y(below)} height=${
          y(from) - y(below)
        } />`;
      })}
      <rect class="hit" x=${left} width=${width} y=${TOP} height=${INNER_HEIGHT} />
    </g>
  `;
}

const topOf = (kind: "bars" | "lines", values: readonly number[]): number =>
  kind === "bars" ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);

/** The points whose words fit below the axis: the first, the last, and some between. */
function namedPoints(count: number, width: number): readonly number[] {
  if (count <= 1) return count === 1 ? [0] : [];
  const named = Math.min(count, width < 450 ? 3 : 5);
  return Array.from({ length: named }, (_, n) => Math.round(n * (count - 1) / (named - 1)));
}
