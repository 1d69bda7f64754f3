/** The axis of a chart: its end, and the values that it names. It begins at zero. */
export interface Axis {
  readonly end: number;
  readonly ticks: readonly number[];
}

/** Steps between named values, within a power of ten. */
const STEPS = [1, 2, 5, 10];

/** An axis of round values that reaches the largest one; `most` is how many steps it may have. */
export function axisFor(largest: number, most = 4): Axis {
  if (!(largest > 0)) return { end: 1, ticks: [0, 1] };
  const least = largest / most;
  const power = 10 ** Math.floor(Math.log10(least));
  // Counts are whole, so no step is a part of one.
  const step = Math.max(1, STEPS.find((step) => step * power >= least)! * power);
  const count = Math.ceil(largest / step);
  return { end: count * step, ticks: Array.from({ length: count + 1 }, (_, n) => n * step) };
}

/** Where a value lies between two ends of an axis, from 0 to 1. */
export const shareOf = (value: number, end: number): number =>
  Math.min(1, Math.max(0, end === 0 ? 0 : value / end));

const UNITS: readonly [number, string][] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** A number in few characters: `950`, `1.2k`, `35M`. */
export function shortNumber(value: number): string {
  for (const [unit, name] of UNITS) {
    if (value >= unit) {
      const short = value / unit;
      return `${short < 10 ? Math.round(short * 10) / 10 : Math.round(short)}${name}`;
    }
  }
  return `${Math.round(value * 100) / 100}`;
}
