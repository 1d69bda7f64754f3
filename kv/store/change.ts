import { keyTextOf } from "./collection.ts";
import type { Line } from "../log/line.ts";

/** A key that must be unchanged since it was read. */
export interface Check {
  readonly key: Deno.KvKey;
  readonly keyText: string;
  readonly versionstamp: string | null;
}

interface At {
  readonly key: Deno.KvKey;
  readonly keyText: string;
  /** True for a row under a new random id or a new log segment: nobody can have read it before. */
  readonly fresh?: boolean;
  /** The group of the read cache that may hold this key, with its limit. */
  readonly cache?: { readonly group: string; readonly limit: number };
}

export type Mutation =
  | At & {
    readonly kind: "set";
    readonly value: unknown;
    readonly expireIn?: number;
    /** Approximate size, for the engine's limit on an atomic. */
    readonly bytes: number;
  }
  | At & { readonly kind: "delete" }
  | At & { readonly kind: "sum"; readonly n: bigint }
  | At & { readonly kind: "max"; readonly n: bigint };

/** A line of a value that all callers of one commit share; the value's key ends with their versionstamp. */
export interface CoalescedLine {
  readonly key: Deno.KvKey;
  readonly keyText: string;
  readonly text: string;
  readonly bytes: number;
  readonly expireIn?: number;
}

/** One caller's change, committed in one atomic. */
export interface Change {
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
  /** The events, in order. */
  readonly lines: readonly Line[];
  readonly lineBytes: number;
  /** The tenants of the lines, once each. */
  readonly tenants: readonly string[];
  /** Lines of one key and commit become one value, in order. */
  readonly coalesced: readonly CoalescedLine[];
  /** Delays in ms, after which the engine wakes the job runner. */
  readonly alarms: readonly number[];
  /** True when it may be committed before earlier changes; it has no events, coalesced lines or alarms then. */
  readonly reorderable?: boolean;
}

/** An empty change. */
export const NOTHING: Change = {
  checks: [],
  mutations: [],
  lines: [],
  lineBytes: 0,
  tenants: [],
  coalesced: [],
  alarms: [],
};

/** How many writes a change adds to an atomic: mutations, alarms, the outbox row and coalesced lines. */
export const writesOf = ({ mutations, alarms, lines, coalesced }: Change): number =>
  mutations.length + alarms.length + (lines.length > 0 ? 1 : 0) + coalesced.length;

/** A check that a key still has the versionstamp that was read. */
export const checkOf = (key: Deno.KvKey, versionstamp: string | null): Check => ({
  key,
  keyText: keyTextOf(key),
  versionstamp,
});

/** Sets a key; `bytes` is the approximate size of its value. */
export const setKey = (
  key: Deno.KvKey,
  value: unknown,
  bytes: number,
  expireIn?: number,
): Mutation => ({
  kind: "set",
  key,
  keyText: keyTextOf(key),
  value,
  bytes,
  ...(expireIn === undefined ? undefined : { expireIn }),
});

/** Deletes a key. */
export const deleteKey = (key: Deno.KvKey): Mutation => ({
  kind: "delete",
  key,
  keyText: keyTextOf(key),
});

/** Adds to a counter. The engine's sums wrap at 2^64, so `n` wraps to subtract. */
export const sumKey = (key: Deno.KvKey, n: bigint): Mutation => ({
  kind: "sum",
  key,
  keyText: keyTextOf(key),
  n,
});

/** Raises a number that never falls. */
export const maxKey = (key: Deno.KvKey, n: bigint): Mutation => ({
  kind: "max",
  key,
  keyText: keyTextOf(key),
  n,
});
