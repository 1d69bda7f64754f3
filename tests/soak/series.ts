import { type Bound, lowestOf, type Point, slopeOf, type Trend, trendOf } from "./flat.ts";
import type { Sample } from "./samples.ts";

type Figure = Exclude<keyof Sample, "atS" | "life">;

interface Series {
  readonly key: Figure;
  readonly title: string;
  readonly unit: string;
  /** Null for one that nothing bounds: it is shown only. */
  readonly bound: Bound | null;
  /** Only the lowest of so many samples counts. */
  readonly lowestOf?: number;
}

/** Every series of the report, and what those may do that must not grow. */
export const SERIES: readonly Series[] = [
  {
    key: "residentMiB",
    title: "Resident memory",
    unit: "MiB",
    bound: { perHour: 64, atLeast: 48 },
    lowestOf: 12,
  },
  {
    key: "liveMiB",
    title: "Live memory of V8, after a collection",
    unit: "MiB",
    bound: { perHour: 32, atLeast: 12 },
    // Four collections: during one of them a report on the whole log may be under way, and holds memory too.
    lowestOf: 24,
  },
  { key: "handles", title: "Open handles", unit: "", bound: { perHour: 30, atLeast: 15 } },
  { key: "threads", title: "Threads", unit: "", bound: { perHour: 4, atLeast: 3 } },
  { key: "loopLagMs", title: "Event loop lag", unit: "ms", bound: { perHour: 100, atLeast: 50 } },
  {
    key: "numberingLagMs",
    title: "Age of events when they get their number",
    unit: "ms",
    bound: { perHour: 500, atLeast: 200 },
  },
  { key: "auditLagS", title: "Audit lag", unit: "s", bound: { perHour: 2, atLeast: 1 } },
  { key: "walMiB", title: "Write-ahead log", unit: "MiB", bound: { perHour: 32, atLeast: 16 } },
  { key: "storeMiB", title: "Store file", unit: "MiB", bound: null },
  { key: "events", title: "Rows of the audit log", unit: "", bound: null },
  { key: "requestsPerS", title: "Requests", unit: "/s", bound: null },
  { key: "execP50Ms", title: "A command, p50", unit: "ms", bound: null },
  { key: "execP99Ms", title: "A command, p99", unit: "ms", bound: null },
  { key: "streams", title: "Open event streams", unit: "", bound: null },
  { key: "jobsDue", title: "Due deliveries", unit: "", bound: null },
];

/** The share of the last process's life that counts as its warm-up. */
const WARM_UP = 1 / 3;
/** With fewer samples nothing is judged. */
const SAMPLES_MIN = 18;
/** How much more bytes an event may take in the last third of the run than in the first. */
const BYTES_GROWTH_MAX = 1.5;

/** What was found of the series; null for too short a run. */
export interface Findings {
  readonly trends: ReadonlyMap<Figure, Trend>;
  /** Bytes of the store file for each row of the audit log, in the first third and in the last. */
  readonly bytesPerEvent: readonly [first: number, last: number];
  readonly faults: readonly string[];
}

/** Judges the series by the relay's last process, which nobody killed, without its warm-up. */
export function judge(samples: readonly Sample[]): Findings | null {
  const life = samples.at(-1)?.life;
  const last = samples.filter((sample) => sample.life === life);
  const watched = last.slice(Math.ceil(last.length * WARM_UP));
  if (watched.length < SAMPLES_MIN) return null;
  const trends = new Map<Figure, Trend>();
  const faults: string[] = [];
  for (const { key, title, unit, bound, lowestOf: count } of SERIES) {
    if (bound === null) continue;
    const points = watched.map((sample): Point => [sample.atS, sample[key]]);
    const trend = trendOf(count === undefined ? points : lowestOf(points, count), bound);
    trends.set(key, trend);
    if (!trend.isFlat) {
      faults.push(`${title} grows by ${trend.perHour.toFixed(1)} ${unit} an hour`);
    }
  }
  const bytesPerEvent = [bytesIn(thirdOf(samples, 0)), bytesIn(thirdOf(samples, 2))] as const;
  const [before, after] = bytesPerEvent;
  if (after > before * BYTES_GROWTH_MAX) {
    faults.push(`an event took ${before.toFixed(0)} bytes at first and ${after.toFixed(0)} later`);
  }
  return { trends, bytesPerEvent, faults };
}

function thirdOf(samples: readonly Sample[], n: number): readonly Sample[] {
  const size = Math.floor(samples.length / 3);
  return samples.slice(n * size, (n + 1) * size);
}

/** Bytes that the store file grows by with each row. */
const bytesIn = (samples: readonly Sample[]): number =>
  slopeOf(samples.map(({ events, storeMiB }): Point => [events, storeMiB * 2 ** 20]));
