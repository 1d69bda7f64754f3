import { Buffer } from "node:buffer";
import { type Tenant, tenantOf } from "../store/collection.ts";
import { OUTBOX } from "../commit/commit.ts";
import { LOG_VALUE_BYTES_MAX } from "../store/limits.ts";

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

/** Rows of the outbox, the oldest first, and what they hold for each tenant. */
export interface Plan {
  readonly first: { readonly key: Deno.KvKey; readonly versionstamp: string };
  readonly rows: readonly Deno.KvKey[];
  /** In the order in which the rows name them: the same rows always give the same order. */
  readonly tenants: ReadonlyMap<string, TenantLines>;
  /** How many of their lines have their numbers already. */
  readonly done: number;
  /** The versionstamp of what says so. */
  readonly begun: string | null;
  /** True when the outbox holds more. */
  readonly more: boolean;
}

/** What rows hold for one tenant, and the followers that it is marked for. */
export interface TenantLines {
  readonly tenant: Tenant;
  /** Types and rows, as segments hold them. */
  readonly lines: string[];
  readonly followers: ReadonlySet<string>;
}

/** How far a fold of several atomics has come: its last row, and how many lines have their numbers. */
export interface Progress {
  readonly last: string;
  readonly done: number;
}

/** The next segment of a tenant's log. */
export interface Piece extends TenantLines {
  readonly bytes: number;
}

/** What bounds a fold. */
export interface FoldLimits {
  /** One atomic stays short, because the engine does nothing else meanwhile. */
  readonly atomicBytes: number;
  readonly atomicMutations: number;
  /** While segments would be smaller, more rows are taken: each of many busy logs gets one, not several. */
  readonly segmentBytes: number;
  /** So much in one commit for each of its tenants, on average, makes segments at once and needs no fold. */
  readonly directBytes: number;
  /** What a fold holds in memory. */
  readonly bytes: number;
  readonly rows: number;
}

export const FOLD_LIMITS: FoldLimits = {
  atomicBytes: 600 * 1024,
  atomicMutations: 700,
  segmentBytes: LOG_VALUE_BYTES_MAX,
  directBytes: 8 * 1024,
  bytes: 8 * 1024 * 1024,
  rows: 500,
};
const decoder = new TextDecoder();
/** Before all rows, so that whoever lists them meets it first. */
export const PROGRESS: Deno.KvKey = [...OUTBOX, ""];

/** What the next fold moves, or null; one that was begun, up to its last row. */
export async function planFold(
  kv: Deno.Kv,
  wants: (type: string, tenant: Tenant) => Iterable<string>,
  limits: FoldLimits,
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
    // It has ended: its rows are gone.
    if (first === null && progress !== null && isAfter(key, progress)) progress = null;
    bytes += value.length;
    const room = Math.max(limits.atomicBytes, tenants.size * limits.segmentBytes);
    const fits = progress === null
      ? bytes <= Math.min(room, limits.bytes) && rows.length < limits.rows
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

const isAfter = (row: Deno.KvKey, { last }: Progress): boolean => (row.at(-1) as string) > last;

/** What each atomic of a fold takes; the last one also takes the rows, so there is always one. */
export function* partsOf({ rows, tenants, done }: Plan, limits: FoldLimits): Generator<Piece[]> {
  let part: Piece[] = [], bytes = 0, mutations = 0, passed = done;
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

/** Splits lines into values that the engine takes. */
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

/** Lines of a segment as the events that they are, from number `first` on. */
export const eventsOf = (lines: readonly string[], first: number): Sequenced[] =>
  lines.map((line, at) => {
    const tab = line.indexOf("\t");
    return { seq: first + at, type: line.slice(0, tab), json: line.slice(tab + 1) };
  });
