import type { Check, Mutation } from "../store/change.ts";
import type { Line } from "./line.ts";

/** What an atomic has left beside what its callers want. */
export interface Room {
  readonly checks: number;
  readonly writes: number;
  readonly bytes: number;
  readonly keyBytes: number;
}

/** What gives the lines of an atomic their numbers in that same atomic. */
export interface Numbered {
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
  /** Called once: with true when it was written, false when it was not, null when nobody knows. */
  readonly settle: (written: boolean | null) => void;
}

/** The log, as the committer knows it. */
export interface Numbering {
  /** What numbers these lines at once, or null when they go to the outbox. */
  readonly number: (lines: readonly Line[], room: Room) => Numbered | null;
  /** Called with lines that are in the outbox now, or may be when the versionstamp is null. */
  readonly waiting: (lines: readonly Line[], versionstamp: string | null) => void;
}
