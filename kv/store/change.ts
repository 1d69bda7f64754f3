import { slotOf } from "./collection.ts";
import type { Line } from "../log/line.ts";

/** One key that must not have changed since it was read. */
export interface Check {
  readonly key: Deno.KvKey;
  readonly slot: string;
  readonly versionstamp: string | null;
}

interface At {
  readonly key: Deno.KvKey;
  readonly slot: string;
  /** True for a row under a new random id, or a new segment of a log: nobody can have read it before. */
  readonly fresh?: boolean;
  /** The group of the read cache that may hold this key, and its limit. */
  readonly cache?: { readonly group: string; readonly limit: number };
}

export type Mutation =
  | At & {
    readonly kind: "set";
    readonly value: unknown;
    readonly expireIn?: number;
    /** Rough size, for the engine's cap on an atomic. */
    readonly bytes: number;
  }
  | At & { readonly kind: "delete" }
  | At & { readonly kind: "sum"; readonly n: bigint }
  | At & { readonly kind: "max"; readonly n: bigint };

/** A line for a value that all callers of one commit share; its key ends with their versionstamp. */
export interface CoalescedLine {
  readonly key: Deno.KvKey;
  readonly slot: string;
  readonly text: string;
  readonly bytes: number;
  readonly expireIn?: number;
}

/** What one caller wants committed: all of it or nothing. */
export interface Change {
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
  /** Events for the log, in order. */
  readonly lines: readonly Line[];
  readonly lineBytes: number;
  /** Whose logs the lines go to, once each. */
  readonly tenants: readonly string[];
  /** Lines for values beside the log; those of one key and commit become one value, in order. */
  readonly coalesced: readonly CoalescedLine[];
  /** Delays in ms after which the engine should wake the job runner. */
  readonly alarms: readonly number[];
  /** True when it may overtake others; it has no events, coalesced lines or alarms then. */
  readonly apart?: boolean;
}

/** A change that changes nothing. */
export const NOTHING: Change = {
  checks: [],
  mutations: [],
  lines: [],
  lineBytes: 0,
  tenants: [],
  coalesced: [],
  alarms: [],
};

/** What a change adds to an atomic: its mutations, its messages, the outbox row and its coalesced lines. */
export const writesOf = ({ mutations, alarms, lines, coalesced }: Change): number =>
  mutations.length + alarms.length + (lines.length > 0 ? 1 : 0) + coalesced.length;

/** Makes a commit depend on a key being as it was read. */
export const checkOf = (key: Deno.KvKey, versionstamp: string | null): Check => ({
  key,
  slot: slotOf(key),
  versionstamp,
});

/** Writes a key; `bytes` is roughly what its value weighs. */
export const setKey = (
  key: Deno.KvKey,
  value: unknown,
  bytes: number,
  expireIn?: number,
): Mutation => ({
  kind: "set",
  key,
  slot: slotOf(key),
  value,
  bytes,
  ...(expireIn === undefined ? undefined : { expireIn }),
});

/** Removes a key. */
export const deleteKey = (key: Deno.KvKey): Mutation => ({
  kind: "delete",
  key,
  slot: slotOf(key),
});

/** Adds to a counter; to take from it `n` wraps, as the engine's sums do. */
export const sumKey = (key: Deno.KvKey, n: bigint): Mutation => ({
  kind: "sum",
  key,
  slot: slotOf(key),
  n,
});

/** Lifts a number that only rises. */
export const maxKey = (key: Deno.KvKey, n: bigint): Mutation => ({
  kind: "max",
  key,
  slot: slotOf(key),
  n,
});
