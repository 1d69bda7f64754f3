import { type Hours, zeroHours } from "../../../kv/store/series.ts";

/** A route, counted as `METHOD /path/{pattern}`. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
}

/** One key's day as it is counted. Endpoints are keys by identity, so a request builds no text. */
export interface DayCounts {
  readonly requests: Hours;
  readonly mcpCalls: Hours;
  readonly rateLimited: Hours;
  readonly agents: Map<string, Hours>;
  readonly endpoints: Map<Endpoint, Hours>;
}

/** One key's day as it is stored. */
export interface StoredDay {
  readonly requests: Hours;
  readonly mcp_calls: Hours;
  readonly rate_limited: Hours;
  readonly agents: ReadonlyMap<string, Hours>;
  readonly endpoints: ReadonlyMap<string, Hours>;
}

/**
 * The busiest names of a day are stored, at most this many: with ids of 128 characters and patterns of 100
 * they fit into one value of 64 KiB. Totals count every request, whatever its name.
 */
export const NAMES_STORED = 100;
/** Names of a day that are counted in memory. */
export const NAMES_COUNTED = 1_000;
/** The approximate size of a name with its hours, and of a day without names. */
const NAME_BYTES = 260;
const EMPTY_BYTES = 512;

/** A day without counts. */
export const emptyDay = (): DayCounts => ({
  requests: zeroHours(),
  mcpCalls: zeroHours(),
  rateLimited: zeroHours(),
  agents: new Map(),
  endpoints: new Map(),
});

/** Counts one for a name. When there are too many names, the least busy half is dropped. */
export function countName<K>(names: Map<K, Hours>, name: K, hour: number): void {
  const known = names.get(name);
  if (known !== undefined) {
    known[hour]!++;
    return;
  }
  if (names.size >= NAMES_COUNTED) {
    for (const [idle] of busiest(names).slice(NAMES_COUNTED / 2)) names.delete(idle);
  }
  const hours = zeroHours();
  hours[hour] = 1;
  names.set(name, hours);
}

/** A day as it is stored, with its busiest names. It shares its hours with `day`. */
export function storedDay(day: DayCounts): { value: StoredDay; bytes: number } {
  const agents = new Map(busiest(day.agents).slice(0, NAMES_STORED));
  const endpoints = new Map(
    busiest(day.endpoints).slice(0, NAMES_STORED)
      .map(([{ method, path }, hours]) => [`${method} ${path}`, hours]),
  );
  const value: StoredDay = {
    requests: day.requests,
    mcp_calls: day.mcpCalls,
    rate_limited: day.rateLimited,
    agents,
    endpoints,
  };
  return { value, bytes: EMPTY_BYTES + (agents.size + endpoints.size) * NAME_BYTES };
}

/** The sum of counts. */
export function total(hours: Iterable<number>): number {
  let sum = 0;
  for (const n of hours) sum += n;
  return sum;
}

function busiest<K>(names: ReadonlyMap<K, Hours>): [K, Hours][] {
  if (names.size <= 1) return [...names];
  return [...names].map(([name, hours]) => ({ name, hours, n: total(hours) }))
    .sort((a, b) => b.n - a.n)
    .map(({ name, hours }) => [name, hours]);
}
