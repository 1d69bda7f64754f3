import { GET_MANY_MAX } from "../engine/engine_limits.ts";
import type { Appending } from "../log/appends.ts";
import type { KeyParts, Tenant } from "./collection.ts";
import { coalescedLine } from "./coalesced.ts";
import type { Store } from "./store.ts";

const decoder = new TextDecoder();

/** Records that were made within this time share one instant, so that one commit makes one value of them. */
const PACK_MS = 256;
/** The instant under which a record is stored that was made at a time. */
export const packedInstant = (ms: number): number => ms - ms % PACK_MS;

/** Records whose expiry falls within the same span share a value, which the engine removes whole. */
const EXPIRY_SPAN_MS = 60 * 60 * 1000;
/** Values that a list reads at once. */
const BATCH = 16;

/** The prefix of the values; an instant, how long it is kept, and the versionstamp follow. */
export const packedKey = (tenant: Tenant, name: string): KeyParts => [
  tenant.org,
  tenant.space,
  `${name}=`,
];
/** The prefix of an owner's entries; the rest of a value's key follows. */
export const packedOwnerKey = (tenant: Tenant, name: string, owner: string): KeyParts => [
  tenant.org,
  tenant.space,
  `${name}=by`,
  owner,
];

/** A record to pack. */
export interface Packed {
  readonly id: string;
  /** Its JSON, an array that begins with the id. */
  readonly json: string;
  /** When its id was made, in ms. */
  readonly madeMs: number;
  readonly expireIn: number;
  /** By whom it is listed, beside the list of all. */
  readonly owner: string;
}

/**
 * Adds a record that never changes again to the value that all callers of the commit share. A reader finds it by the
 * time at which its id was made, so it needs no row. For each owner, the commit also has an entry with the ids of
 * that owner's records; it shares the end of its key with the value.
 */
export function putPacked(
  to: Appending,
  tenant: Tenant,
  name: string,
  { id, json, madeMs, expireIn, owner }: Packed,
): void {
  const keptMs = Math.ceil(expireIn / EXPIRY_SPAN_MS) * EXPIRY_SPAN_MS;
  const place = [packedInstant(madeMs), keptMs];
  to.coalesce(coalescedLine([...packedKey(tenant, name), ...place], json, keptMs));
  to.coalesce(coalescedLine([...packedOwnerKey(tenant, name, owner), ...place], id, keptMs));
}

/** The start of a record's JSON. JSON of later ids is greater. */
const startOf = (id: string): string => `["${id}"`;

/** The JSON of the record with this id, which was made at `madeMs`. */
export async function findPacked(
  store: Store,
  tenant: Tenant,
  name: string,
  { id, madeMs }: Pick<Packed, "id" | "madeMs">,
): Promise<string | null> {
  const prefix = [...packedKey(tenant, name), packedInstant(madeMs)];
  const start = `${startOf(id)},`;
  for await (const { value } of store.kv.list<Uint8Array>({ prefix }, { batchSize: BATCH })) {
    const found = linesOf(value).find((line) => line.startsWith(start));
    if (found !== undefined) return found;
  }
  return null;
}

/** Which records a list has: ids from `from`, inclusive, to `before`, exclusive, and the times of these ids. */
export interface PackedRange {
  readonly from: { readonly id: string; readonly ms: number };
  readonly before: { readonly id: string; readonly ms: number };
  /** All owners' records when absent. */
  readonly owner?: string | undefined;
}

/** The JSON of packed records, newest ids first. */
export async function* packedNewestFirst(
  store: Store,
  tenant: Tenant,
  name: string,
  { from, before, owner }: PackedRange,
): AsyncGenerator<string> {
  const [least, end] = [startOf(from.id), startOf(before.id)];
  const values = owner === undefined
    ? valuesOf(store, packedKey(tenant, name), from.ms, before.ms)
    : ownedValues(store, tenant, name, owner, from.ms, before.ms);
  for await (const lines of byInstant(values)) {
    // Within an instant, values are in the order of their commits.
    yield* lines.filter((line) => line >= least && line < end).sort().reverse();
  }
}

/** A value: the end of its key, and its lines. */
interface Value {
  readonly place: KeyParts;
  readonly lines: readonly string[];
}

/** The values under a prefix of the instants from `fromMs` to `untilMs`, newest first. */
async function* valuesOf(
  { kv }: Store,
  prefix: KeyParts,
  fromMs: number,
  untilMs: number,
): AsyncGenerator<Value> {
  const range = {
    start: [...prefix, packedInstant(fromMs)],
    end: [...prefix, packedInstant(untilMs) + PACK_MS],
  };
  for await (
    const { key, value } of kv.list<Uint8Array>(range, { reverse: true, batchSize: BATCH })
  ) {
    yield { place: key.slice(prefix.length) as KeyParts, lines: linesOf(value) };
  }
}

/** The values of an owner, with only that owner's lines. */
async function* ownedValues(
  store: Store,
  tenant: Tenant,
  name: string,
  owner: string,
  fromMs: number,
  untilMs: number,
): AsyncGenerator<Value> {
  let waiting: Value[] = [];
  const read = async () => {
    const entries = waiting;
    waiting = [];
    const keys = entries.map(({ place }) => [...packedKey(tenant, name), ...place]);
    const values = await store.kv.getMany<Uint8Array[]>(keys);
    return entries.map(({ place, lines: ids }, at) => {
      const { value } = values[at]!;
      const starts = ids.map((id) => `${startOf(id)},`);
      const all = value === null ? [] : linesOf(value);
      return { place, lines: all.filter((line) => starts.some((start) => line.startsWith(start))) };
    });
  };
  const prefix = packedOwnerKey(tenant, name, owner);
  for await (const entry of valuesOf(store, prefix, fromMs, untilMs)) {
    waiting.push(entry);
    if (waiting.length === GET_MANY_MAX) yield* await read();
  }
  if (waiting.length > 0) yield* await read();
}

/** The lines of all values of an instant, one instant after another. */
async function* byInstant(values: AsyncIterable<Value>): AsyncGenerator<string[]> {
  let instant: unknown = null, lines: string[] = [];
  for await (const value of values) {
    if (value.place[0] !== instant && lines.length > 0) {
      yield lines;
      lines = [];
    }
    instant = value.place[0];
    lines.push(...value.lines);
  }
  if (lines.length > 0) yield lines;
}

const linesOf = (value: Uint8Array): string[] => decoder.decode(value).split("\n");
