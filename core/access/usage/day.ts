import { HOUR_MS } from "../../codec/durations.ts";
/** Counts by hour of a UTC day. */
export type Hours = Uint32Array<ArrayBuffer>;

/** A route in the counts: `METHOD /path/{pattern}`. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
}

/** One key's counts of a day. Endpoints are compared by identity, which builds no text per request. */
export interface DayCounts {
  readonly requests: Hours;
  readonly mcpCalls: Hours;
  readonly rateLimited: Hours;
  readonly agents: Map<string, Hours>;
  readonly endpoints: Map<Endpoint, Hours>;
}

/** The same as stored. */
export interface StoredDay {
  readonly requests: Hours;
  readonly mcp_calls: Hours;
  readonly rate_limited: Hours;
  readonly agents: ReadonlyMap<string, Hours>;
  readonly endpoints: ReadonlyMap<string, Hours>;
}

export const HOURS = 24;

/**
 * The most used names of a day are stored: with ids of 128 characters and patterns of 100 they fit into one value
 * of 64 KiB. Totals count every request, whatever its name.
 */
export const NAMES_STORED = 100;
/** Names counted in memory; beyond that the less used half is dropped. */
export const NAMES_COUNTED = 1_000;
/** Approximate sizes of a name with its 24 counts, and of the rest of a day. */
const NAME_BYTES = 260;
const REST_BYTES = 512;

/**
 * True while `nowMs` counts in the hour that ends at `endsMs`. A clock that steps back by up to an hour stays in
 * that hour; a longer step starts an earlier hour, or it would count in the future.
 */
export const isStillHour = (endsMs: number, nowMs: number): boolean =>
  nowMs < endsMs && nowMs >= endsMs - 2 * HOUR_MS;

const noHours = (): Hours => new Uint32Array(HOURS);

/** A day without counts. */
export const emptyDay = (): DayCounts => ({
  requests: noHours(),
  mcpCalls: noHours(),
  rateLimited: noHours(),
  agents: new Map(),
  endpoints: new Map(),
});

/** Counts one for a name; returns the number of added names, negative when some were dropped. */
export function countName<K>(names: Map<K, Hours>, name: K, hour: number): number {
  const known = names.get(name);
  if (known !== undefined) {
    known[hour]!++;
    return 0;
  }
  const before = names.size;
  if (before >= NAMES_COUNTED) {
    for (const [idle] of mostUsed(names).slice(NAMES_COUNTED / 2)) names.delete(idle);
  }
  const hours = noHours();
  hours[hour] = 1;
  names.set(name, hours);
  return names.size - before;
}

/** A day as stored, with the most used names. It shares its counts with the day, which keeps counting. */
export function storedDay(day: DayCounts): { value: StoredDay; bytes: number } {
  const agents = new Map(mostUsed(day.agents).slice(0, NAMES_STORED));
  const endpoints = new Map(
    mostUsed(day.endpoints).slice(0, NAMES_STORED)
      .map(([{ method, path }, hours]) => [`${method} ${path}`, hours]),
  );
  const value: StoredDay = {
    requests: day.requests,
    mcp_calls: day.mcpCalls,
    rate_limited: day.rateLimited,
    agents,
    endpoints,
  };
  return { value, bytes: REST_BYTES + (agents.size + endpoints.size) * NAME_BYTES };
}

/** The sum of counts. */
export function total(hours: Iterable<number>): number {
  let sum = 0;
  for (const n of hours) sum += n;
  return sum;
}

function mostUsed<K>(names: ReadonlyMap<K, Hours>): [K, Hours][] {
  if (names.size <= 1) return [...names];
  return [...names].map(([name, hours]) => ({ name, hours, n: total(hours) }))
    .sort((a, b) => b.n - a.n)
    .map(({ name, hours }) => [name, hours]);
}
