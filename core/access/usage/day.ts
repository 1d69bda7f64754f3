/** Counts by hour of a UTC day. */
export type Hours = Uint32Array<ArrayBuffer>;

/** What a route is counted as: `METHOD /path/{pattern}`. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
}

/** One key's day as it is counted. Endpoints are told apart by identity, which costs a request no text. */
export interface DayCounts {
  readonly requests: Hours;
  readonly mcpCalls: Hours;
  readonly rateLimited: Hours;
  readonly agents: Map<string, Hours>;
  readonly endpoints: Map<Endpoint, Hours>;
}

/** The same as it is stored. */
export interface StoredDay {
  readonly requests: Hours;
  readonly mcp_calls: Hours;
  readonly rate_limited: Hours;
  readonly agents: ReadonlyMap<string, Hours>;
  readonly endpoints: ReadonlyMap<string, Hours>;
}

export const HOUR_MS = 60 * 60 * 1000;
export const DAY_MS = 24 * HOUR_MS;
export const HOURS = 24;

/**
 * Names that are stored of one day, the busiest ones: with ids of 128 characters and patterns of 100 all of
 * them fit into one value of 64 KiB. Totals count every request, whatever its name.
 */
export const NAMES_STORED = 100;
/** Names that are counted in memory; beyond it the least busy half is forgotten. */
export const NAMES_COUNTED = 1_000;
/** A name with its 24 counts, roughly, and what a day holds beside them. */
const NAME_BYTES = 260;
const REST_BYTES = 512;

/**
 * Whether what happens now counts in the hour that ends then. A clock that steps back by up to an hour stays
 * in the hour that it had reached; one that steps back further is followed, or it would count in the future.
 */
export const isStillHour = (endsMs: number, nowMs: number): boolean =>
  nowMs < endsMs && nowMs >= endsMs - 2 * HOUR_MS;

const noHours = (): Hours => new Uint32Array(HOURS);

/** A day on which nothing has happened yet. */
export const emptyDay = (): DayCounts => ({
  requests: noHours(),
  mcpCalls: noHours(),
  rateLimited: noHours(),
  agents: new Map(),
  endpoints: new Map(),
});

/** Counts one for a name; answers how many names were added, which is negative when some were forgotten. */
export function countName<K>(names: Map<K, Hours>, name: K, hour: number): number {
  const known = names.get(name);
  if (known !== undefined) {
    known[hour]!++;
    return 0;
  }
  const before = names.size;
  if (before >= NAMES_COUNTED) {
    for (const [idle] of busiest(names).slice(NAMES_COUNTED / 2)) names.delete(idle);
  }
  const hours = noHours();
  hours[hour] = 1;
  names.set(name, hours);
  return names.size - before;
}

/** A day as it is stored: the busiest names. It shares its counts with the day, which goes on counting. */
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
  return { value, bytes: REST_BYTES + (agents.size + endpoints.size) * NAME_BYTES };
}

/** The sum of some counts. */
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
