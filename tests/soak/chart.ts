import { axisFor, shortNumber } from "../../console/app/components/scale.ts";
import type { Point } from "./flat.ts";

/** A moment that a chart marks. */
export interface Moment {
  readonly atS: number;
  readonly about: string;
  /** Of its line. */
  readonly color: string;
}

const WIDTH = 720, HEIGHT = 130, LEFT = 46, RIGHT = 16, TOP = 8, BOTTOM = 20;
const TICKS = 6;

/** A line through the points of each life, as an SVG picture. */
export function chartOf(
  lives: readonly (readonly Point[])[],
  endS: number,
  moments: readonly Moment[],
): string {
  const largest = Math.max(0, ...lives.flat().map(([, value]) => value));
  const axis = axisFor(largest, 3);
  const x = (atS: number) => LEFT + (WIDTH - LEFT - RIGHT) * atS / endS;
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / axis.end);
  const at = (n: number) => n.toFixed(1);
  const grid = axis.ticks.map((tick) =>
    `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(tick))}" y2="${
      at(y(tick))
    }"/>` +
    `<text x="${LEFT - 6}" y="${at(y(tick) + 4)}" text-anchor="end">${shortNumber(tick)}</text>`
  );
  const times = Array.from({ length: TICKS + 1 }, (_, n) => {
    const atS = endS * n / TICKS;
    return `<text x="${at(x(atS))}" y="${HEIGHT - 5}" text-anchor="middle">${minutes(atS)}</text>`;
  });
  const marks = moments.map(({ atS, about, color }) =>
    `<line x1="${at(x(atS))}" x2="${at(x(atS))}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" ` +
    `stroke="${color}" stroke-dasharray="2 2"><title>${about}</title></line>`
  );
  const lines = lives.map((points) =>
    `<polyline points="${
      points.map(([atS, value]) => `${at(x(atS))},${at(y(value))}`).join(" ")
    }"/>`
  );
  const parts = [...grid, ...times, ...marks, ...lines].join("\n");
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}">${parts}</svg>`;
}

export const minutes = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
