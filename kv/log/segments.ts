import { deleteKey, type Mutation, setKey } from "../store/change.ts";
import type { Tenant } from "../store/collection.ts";
import { eventsOf, type Sequenced } from "./sequencing.ts";
import type { Tx } from "../store/tx.ts";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** The prefix of the segments of a tenant's log. */
export const segmentsOf = (t: Tenant): Deno.KvKey => [t.org, t.space, "log"];

/** The key of the segment that begins with number `first`. */
export const segmentKey = (t: Tenant, first: number): Deno.KvKey => [...segmentsOf(t), first];

/** Writes a new segment: one line for each event, with a tab between type and row. */
export function setSegment(tenant: Tenant, first: number, text: string): Mutation {
  const value = encoder.encode(text);
  return { ...setKey(segmentKey(tenant, first), value, value.length), fresh: true };
}

/** The events of a segment. It frees the segment's bytes: those of a whole scan would wait for a full collection. */
function decodeSegment({ key, value }: Deno.KvEntry<Uint8Array>): Sequenced[] {
  const text = decoder.decode(value);
  (value.buffer as ArrayBuffer).transfer(0);
  return eventsOf(text.split("\n"), key.at(-1) as number);
}

/** The number of the newest event, 0 when there is none. */
export async function lastNumber(kv: Deno.Kv, tenant: Tenant): Promise<number> {
  const last = kv.list<Uint8Array>({ prefix: segmentsOf(tenant) }, { reverse: true, limit: 1 });
  for await (const segment of last) return decodeSegment(segment).at(-1)!.seq;
  return 0;
}

/** True when a segment begins above `seq`. The store may have one that the log's remembered head lacks. */
export async function hasSegmentAfter(kv: Deno.Kv, tenant: Tenant, seq: number): Promise<boolean> {
  const selector = { prefix: segmentsOf(tenant), start: segmentKey(tenant, seq + 1) };
  for await (const _ of kv.list(selector, { limit: 1 })) return true;
  return false;
}

/** Events with numbers above `after`, in order, at most `limit`. */
export async function readAfter(
  kv: Deno.Kv,
  tenant: Tenant,
  after: number,
  limit: number,
): Promise<Sequenced[]> {
  const out: Sequenced[] = [];
  for await (const segment of segmentsFrom(kv, tenant, after + 1)) {
    for (const event of segment) if (event.seq > after && out.length < limit) out.push(event);
    if (out.length >= limit) break;
  }
  return out;
}

/** Events with numbers below `before`, newest first, one segment at a time. */
export async function* segmentsBefore(
  kv: Deno.Kv,
  tenant: Tenant,
  before: number,
): AsyncGenerator<Sequenced[]> {
  const selector = { prefix: segmentsOf(tenant), end: segmentKey(tenant, before) };
  for await (const entry of kv.list<Uint8Array>(selector, { reverse: true, batchSize: 16 })) {
    yield decodeSegment(entry).filter(({ seq }) => seq < before).reverse();
  }
}

/** Events with numbers below `before`, newest first, at most `limit`. */
export async function readBefore(
  kv: Deno.Kv,
  tenant: Tenant,
  before: number,
  limit: number,
): Promise<Sequenced[]> {
  const out: Sequenced[] = [];
  for await (const events of segmentsBefore(kv, tenant, before)) {
    out.push(...events.slice(0, limit - out.length));
    if (out.length >= limit) break;
  }
  return out;
}

/** The oldest segment and a function that deletes it, or null when it is the only one. */
export async function oldestSegment(
  kv: Deno.Kv,
  tenant: Tenant,
): Promise<{ events: Sequenced[]; drop: (tx: Tx) => void } | null> {
  const segments = kv.list<Uint8Array>({ prefix: segmentsOf(tenant) }, { limit: 2 });
  const [first, next] = await Array.fromAsync(segments);
  if (first === undefined || next === undefined) return null;
  return { events: decodeSegment(first), drop: (tx) => tx.stage(deleteKey(first.key)) };
}

/** Reads a log in order, and each of its segments once. Its memory is that of a batch of segments. */
export class RowReader {
  #segments: AsyncGenerator<Sequenced[]> | null = null;
  /** Events that were read, in order, and not yet passed. */
  #ahead: readonly Sequenced[] = [];
  #after = 0;

  constructor(private readonly kv: Deno.Kv, private readonly tenant: Tenant) {}

  /** Events with numbers above `after`, in order, at most `limit`. `after` never decreases. */
  async read(after: number, limit: number): Promise<readonly Sequenced[]> {
    if (after < this.#after) throw new RangeError("a reader goes forward only");
    this.#after = after;
    this.#ahead = this.#ahead.filter(({ seq }) => seq > after);
    while (this.#ahead.length < limit) {
      const last = this.#ahead.at(-1)?.seq ?? after;
      this.#segments ??= segmentsFrom(this.kv, this.tenant, last + 1);
      const { done, value } = await this.#segments.next();
      if (done) {
        this.#segments = null;
        break;
      }
      this.#ahead = [...this.#ahead, ...value.filter(({ seq }) => seq > last)];
    }
    return this.#ahead.slice(0, limit);
  }
}

/** The events of the segment that holds number `from`, and of the segments after it. */
async function* segmentsFrom(
  kv: Deno.Kv,
  tenant: Tenant,
  from: number,
): AsyncGenerator<Sequenced[]> {
  const prefix = segmentsOf(tenant);
  // The segment that holds `from` is the last one that begins at or below it.
  const holder = kv.list<Uint8Array>({ prefix, end: segmentKey(tenant, from + 1) }, {
    reverse: true,
    limit: 1,
  });
  let start = from;
  for await (const entry of holder) {
    start = entry.key.at(-1) as number + 1;
    yield decodeSegment(entry);
  }
  const rest = { prefix, start: segmentKey(tenant, start) };
  for await (const entry of kv.list<Uint8Array>(rest, { batchSize: 16 })) {
    yield decodeSegment(entry);
  }
}
