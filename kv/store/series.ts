import { deleteKey, maxKey, setKey } from "./change.ts";
import type { Tenant } from "./collection.ts";
import type { Store } from "./store.ts";
import type { Tx } from "./tx.ts";

/**
 * A time series of counters. Each writer has one value for each day of a series and overwrites it whole, so
 * writers need no read and never conflict; whoever reads adds the writers' values up. A writer's name is
 * used by one process in one life: another one would begin at nothing and overwrite what was counted.
 */
export interface Series {
  readonly tenant: Tenant;
  /** What is counted. */
  readonly name: string;
  /** Whose count it is. */
  readonly id: string;
}

/** What one writer has counted in one day. */
export interface SeriesDay<T> {
  /** The day's beginning in ms, UTC. */
  readonly dayMs: number;
  readonly writer: string;
  readonly value: T;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** How many UTC days can be read, the one under way included: two quarters, so that the last one is whole. */
export const SERIES_DAYS = 184;
/** The engine's expiry may come early in a day. */
const KEPT_MS = (SERIES_DAYS + 1) * DAY_MS;
const DROPPED_AT_ONCE = 100;

const seriesKey = ({ tenant, name, id }: Series) => [tenant.org, tenant.space, `${name}@`, id];
/** Strings sort before numbers, so this is outside every range of days. */
const latestKey = (series: Series) => [...seriesKey(series), "latest"];

/** Overwrites a writer's value of a day, at most `bytes` large; with `atMs`, when the last count was. */
export function putDay(
  tx: Tx,
  series: Series,
  { dayMs, writer, value }: SeriesDay<unknown>,
  { bytes, atMs }: { readonly bytes: number; readonly atMs?: number },
): void {
  tx.stage(setKey([...seriesKey(series), dayMs, writer], value, bytes, KEPT_MS));
  if (atMs !== undefined) tx.stage(maxKey(latestKey(series), BigInt(atMs)));
}

/** Every writer's values of the days that begin from `fromMs` up to, not including, `toMs`. */
export async function* readDays<T>(
  store: Store,
  series: Series,
  fromMs: number,
  toMs: number,
): AsyncGenerator<SeriesDay<T>> {
  const at = seriesKey(series);
  const range = { start: [...at, fromMs], end: [...at, toMs] };
  for await (const { key, value } of store.kv.list<T>(range)) {
    const [dayMs, writer] = key.slice(-2) as [number, string];
    yield { dayMs, writer, value };
  }
}

/** When a series was last counted, in ms, however long ago; null for never, or when nobody said. */
export async function readLatest(store: Store, series: Series): Promise<number | null> {
  const { value } = await store.kv.get<Deno.KvU64>(latestKey(series));
  return value === null ? null : Number(value.value);
}

/** Forgets that a series was ever counted. */
export function dropLatest(tx: Tx, series: Series): void {
  tx.stage(deleteKey(latestKey(series)));
}

/** Forgets every day of a series, in as many commits as it takes. */
export async function dropDays(store: Store, series: Series): Promise<void> {
  const keys: Deno.KvKey[] = [];
  for await (const { key } of store.kv.list({ prefix: seriesKey(series) })) keys.push(key);
  while (keys.length > 0) {
    const some = keys.splice(0, DROPPED_AT_ONCE);
    await store.transact((tx) => tx.stage(...some.map(deleteKey)));
  }
}
