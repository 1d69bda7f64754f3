/** A point of a series: when, in seconds, and how much. */
export type Point = readonly [atS: number, value: number];

/** What a series may do and still count as flat. */
export interface Bound {
  /** What it may grow by in an hour. */
  readonly perHour: number;
  /** What it may grow by while it is watched, however short that is. */
  readonly atLeast: number;
}

/** What was found of a series. */
export interface Trend {
  readonly perHour: number;
  /** What it grew by while it was watched. */
  readonly grown: number;
  readonly isFlat: boolean;
}

const HOUR_S = 3_600;
/** More pairs would take long and say the same. */
const POINTS_MAX = 600;

/** The median slope of all pairs of points: outliers do not move it (Theil and Sen). 0 without two points. */
export function slopeOf(points: readonly Point[]): number {
  const step = Math.ceil(points.length / POINTS_MAX);
  const some = points.filter((_, n) => n % step === 0);
  const slopes = some.flatMap(([x, y], n) =>
    some.slice(n + 1).flatMap(([laterX, laterY]) => laterX > x ? [(laterY - y) / (laterX - x)] : [])
  );
  return medianOf(slopes);
}

/** A series grows if its slope exceeds the bound for an hour and it has grown by more than a little meanwhile. */
export function trendOf(points: readonly Point[], { perHour: most, atLeast }: Bound): Trend {
  const slope = slopeOf(points);
  const perHour = slope * HOUR_S;
  const grown = slope * ((points.at(-1)?.[0] ?? 0) - (points[0]?.[0] ?? 0));
  return { perHour, grown, isFlat: perHour <= most || grown <= atLeast };
}

/** The lowest of each `count` points: memory rises and falls with its garbage. */
export function lowestOf(points: readonly Point[], count: number): Point[] {
  const lowest: Point[] = [];
  for (let at = 0; at + count <= points.length; at += count) {
    lowest.push(points.slice(at, at + count).reduce((a, b) => b[1] < a[1] ? b : a));
  }
  return lowest;
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** The value below which this share of the values lies; 0 without any. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
