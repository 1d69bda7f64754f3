import { Buffer } from "node:buffer";
import { type Tenant, tenantOf } from "../store/collection.ts";
import { OUTBOX } from "./line.ts";
import { LOG_VALUE_BYTES_MAX } from "../engine/engine_limits.ts";

/** One event of a tenant's log. */
export interface Sequenced {
  /** Position in the tenant's log: 1, 2, 3, without a gap. */
  readonly seq: number;
  readonly type: string;
  /** The event row, as canonical JSON. */
  readonly json: string;
}

/** New events of one tenant, with their numbers. */
export interface TenantEvents {
  readonly tenant: Tenant;
  readonly events: Sequenced[];
}

/** The oldest rows of the outbox, and their lines by tenant. */
export interface Plan {
  readonly first: { readonly key: Deno.KvKey; readonly versionstamp: string };
  readonly rows: readonly Deno.KvKey[];
  /** In the order of the rows, so the same rows always give the same order. */
  readonly tenants: ReadonlyMap<string, TenantLines>;
  /** How many of their lines have numbers already. */
  readonly done: number;
  /** The versionstamp of the progress entry; null when there is none. */
  readonly begun: string | null;
  /** True when the outbox holds more rows. */
  readonly more: boolean;
}

/** One tenant's lines of the outbox, and the names of the followers that want one of them. */
export interface TenantLines {
  readonly tenant: Tenant;
  /** Type and row of each event, as a segment holds them. */
  readonly lines: string[];
  readonly followers: ReadonlySet<string>;
}

/** How far a batch of several atomics has come: its last outbox row, and how many lines have numbers. */
export interface Progress {
  readonly last: string;
  readonly done: number;
}

/** The next segment of a tenant's log. */
export interface SegmentPart extends TenantLines {
  readonly bytes: number;
}

/** The limits of one sequencing batch. */
export interface SequencingLimits {
  /** Bounds one atomic, during which the engine does nothing else. */
  readonly atomicBytes: number;
  readonly atomicMutations: number;
  /** The batch takes more rows while its segments would be smaller, so each of many busy logs gets one. */
  readonly segmentBytes: number;
  /** A commit with this much for each of its tenants, on average, is sequenced inline. */
  readonly inlineBytes: number;
  /** Bounds what a batch holds in memory. */
  readonly bytes: number;
  readonly rows: number;
}

export const SEQUENCING_LIMITS: SequencingLimits = {
  atomicBytes: 600 * 1024,
  atomicMutations: 700,
  segmentBytes: LOG_VALUE_BYTES_MAX,
  inlineBytes: 8 * 1024,
  bytes: 8 * 1024 * 1024,
  rows: 500,
};
const decoder = new TextDecoder();
/** The key of a batch's progress. It sorts before all rows, so a listing meets it first. */
export const PROGRESS: Deno.KvKey = [...OUTBOX, ""];

/** The next batch, or null when the outbox is empty. A batch that has begun ends at its last row. */
export async function planSequencing(
  kv: Deno.Kv,
  wants: (type: string, tenant: Tenant) => Iterable<string>,
  limits: SequencingLimits,
): Promise<Plan | null> {
  const tenants = new Map<string, TenantLines & { readonly types: Set<string> }>();
  const rows: Deno.KvKey[] = [];
  let first: Plan["first"] | null = null, bytes = 0, more = false;
  let progress: Progress | null = null, begun: string | null = null;
  const outbox = kv.list<Uint8Array | Progress>({ prefix: OUTBOX }, { batchSize: 64 });
  for await (const { key, value, versionstamp } of outbox) {
    if (!(value instanceof Uint8Array)) {
      progress = value, begun = versionstamp;
      continue;
    }
    // The batch has ended: its rows are gone.
    if (first === null && progress !== null && isAfter(key, progress)) progress = null;
    bytes += value.length;
    const capacity = Math.max(limits.atomicBytes, tenants.size * limits.segmentBytes);
    const fits = progress === null
      ? bytes <= Math.min(capacity, limits.bytes) && rows.length < limits.rows
      : !isAfter(key, progress);
    if (!fits && first !== null) {
      more = true;
      break;
    }
    first ??= { key, versionstamp };
    rows.push(key);
    for (const text of decoder.decode(value).split("\n")) {
      const tab = text.indexOf("\t");
      const id = text.slice(0, tab), line = text.slice(tab + 1);
      let collected = tenants.get(id);
      if (collected === undefined) {
        collected = { tenant: tenantOf(id), lines: [], followers: new Set(), types: new Set() };
        tenants.set(id, collected);
      }
      collected.lines.push(line);
      const type = line.slice(0, line.indexOf("\t"));
      if (collected.types.has(type)) continue;
      collected.types.add(type);
      for (const name of wants(type, collected.tenant)) {
        (collected.followers as Set<string>).add(name);
      }
    }
  }
  return first && { first, rows, tenants, done: progress?.done ?? 0, begun, more };
}

const isAfter = (row: Deno.KvKey, { last }: Progress): boolean => nameOf(row) > last;

/** What orders a row of the outbox among the others. */
export const nameOf = (row: Deno.KvKey): string => row.at(-1) as string;

/** The name of the newest row of the outbox; of an empty one, a name before all rows. */
export async function newestRow(kv: Deno.Kv): Promise<string> {
  for await (const { key } of kv.list({ prefix: OUTBOX }, { limit: 1, reverse: true })) {
    return nameOf(key);
  }
  return nameOf(PROGRESS);
}

/** What each atomic of a batch writes. The last one also deletes the rows, so there is at least one. */
export function* partsOf(
  { rows, tenants, done }: Plan,
  limits: SequencingLimits,
): Generator<SegmentPart[]> {
  let part: SegmentPart[] = [], bytes = 0, mutations = 0, passed = done;
  for (const collected of tenants.values()) {
    const left = collected.lines.slice(passed);
    passed -= collected.lines.length - left.length;
    for (const piece of pack(left, limits.segmentBytes)) {
      bytes += piece.bytes;
      mutations += 1 + collected.followers.size;
      if (part.length > 0 && (bytes > limits.atomicBytes || mutations > limits.atomicMutations)) {
        yield part;
        part = [], bytes = piece.bytes, mutations = 1 + collected.followers.size;
      }
      part.push({ ...collected, ...piece });
    }
  }
  if (part.length > 0 && mutations + rows.length > limits.atomicMutations) {
    yield part;
    part = [];
  }
  yield part;
}

/** Splits lines into segments of at most `bytesMax`. */
function* pack(
  lines: readonly string[],
  bytesMax: number,
): Generator<{ lines: string[]; bytes: number }> {
  let some: string[] = [], bytes = 0;
  for (const line of lines) {
    const more = Buffer.byteLength(line) + 1;
    if (some.length > 0 && bytes + more > bytesMax) {
      yield { lines: some, bytes };
      some = [], bytes = 0;
    }
    some.push(line);
    bytes += more;
  }
  if (some.length > 0) yield { lines: some, bytes };
}

/** The events of a segment's lines, from number `first` on. */
export const eventsOf = (lines: readonly string[], first: number): Sequenced[] =>
  lines.map((line, at) => {
    const tab = line.indexOf("\t");
    return { seq: first + at, type: line.slice(0, tab), json: line.slice(tab + 1) };
  });
