import { deleteKey, maxKey, setKey } from "./change.ts";
import type { Tenant } from "./collection.ts";
import { DAY_MS } from "./durations.ts";
import type { Store } from "./store.ts";
import type { Tx } from "./tx.ts";

/**
 * A time series of counters. Each writer has one value for each day of a series and overwrites it whole, so
 * writers need no read and never conflict. Readers add up the values of all writers. Only one process ever
 * uses a writer's name: another would start at zero and overwrite the counts.
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

/** Counts by hour of a UTC day. */
export type Hours = Uint32Array<ArrayBuffer>;

const HOURS = 24;

/** A day's hours, all zero. */
export const zeroHours = (): Hours => new Uint32Array(HOURS);

/** How many UTC days can be read, today included: two quarters, so that the last one is whole. */
export const SERIES_DAYS = 184;
/** One day longer than what can be read, because the engine may expire a value early in the day. */
const KEPT_MS = (SERIES_DAYS + 1) * DAY_MS;
/** Keys that one commit deletes. */
const DELETES_MAX = 100;

const seriesKey = ({ tenant, name, id }: Series) => [tenant.org, tenant.space, `${name}@`, id];
/** Strings sort before numbers, so this key is outside every range of days. */
const latestKey = (series: Series) => [...seriesKey(series), "latest"];

/** Overwrites a writer's value of a day, of about `bytes`; with `atMs`, also when the series was last counted. */
export function putDay(
  tx: Tx,
  series: Series,
  { dayMs, writer, value }: SeriesDay<unknown>,
  { bytes, atMs }: { readonly bytes: number; readonly atMs: number | null },
): void {
  tx.stage(setKey([...seriesKey(series), dayMs, writer], value, bytes, KEPT_MS));
  if (atMs !== null) tx.stage(maxKey(latestKey(series), BigInt(atMs)));
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

/** When a series was last counted, in ms; null when no writer has stored that. */
export async function readLatest(store: Store, series: Series): Promise<number | null> {
  const { value } = await store.kv.get<Deno.KvU64>(latestKey(series));
  return value === null ? null : Number(value.value);
}

/** Deletes when a series was last counted. */
export function dropLatest(tx: Tx, series: Series): void {
  tx.stage(deleteKey(latestKey(series)));
}

/** Deletes every day of a series, in as many commits as it takes. */
export async function dropDays(store: Store, series: Series): Promise<void> {
  const keys: Deno.KvKey[] = [];
  for await (const { key } of store.kv.list({ prefix: seriesKey(series) })) keys.push(key);
  while (keys.length > 0) {
    const some = keys.splice(0, DELETES_MAX);
    await store.transact((tx) => tx.stage(...some.map(deleteKey)));
  }
}
