import type { Check, Mutation } from "../store/change.ts";
import type { Line } from "./line.ts";

/** What an atomic can still hold beside its callers' changes. */
export interface Capacity {
  readonly checks: number;
  readonly writes: number;
  readonly bytes: number;
  readonly keyBytes: number;
}

/** Checks and mutations that give events their numbers in the atomic that brings them. */
export interface InlineSequence {
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
  /** Called once: true when the atomic was written, false when it was not, null when that is unknown. */
  readonly settle: (written: boolean | null) => void;
}

/** The log, as the committer uses it. */
export interface Sequencer {
  /** Sequences these lines in their own commit, or returns null when they go to the outbox. */
  readonly sequence: (lines: readonly Line[], capacity: Capacity) => InlineSequence | null;
  /** Called with lines that are in the outbox, or may be when the versionstamp is null. */
  readonly waiting: (lines: readonly Line[], versionstamp: string | null) => void;
}
