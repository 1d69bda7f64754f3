import { type AgentFrame, MAX_CONCURRENT_COMMANDS } from "../protocol/protocol.ts";

/** What an agent says of itself goes on record, so that one that says it without end would fill the log. */
const GO_ON_RECORD: ReadonlySet<AgentFrame["type"]> = new Set([
  "heartbeat",
  "policy_held",
  "state",
  "checkpoint_refused",
]);
/** So many of them a minute that nobody has asked for. */
const UNASKED_MAX = 60;
/**
 * So many results a minute that nobody waits for, each of which is looked up in the store: more than an agent
 * can have kept, which are those of the commands that ran and twice as many to send again.
 */
const LATE_MAX = 4 * MAX_CONCURRENT_COMMANDS;
const MINUTE_MS = 60_000;

/** What a link has asked its agent. */
export interface Asked {
  /** The serial of the last `inspect`. */
  readonly inspected: number;
  /** The policies that it was told last. */
  readonly policyVersion: string;
}

/** Counts what an agent says of itself over one link. */
export class Tellings {
  #answered = 0;
  #confirmed = "";
  #unasked = 0;
  #late = 0;
  #sinceMs = 0;

  /** False for a frame too many. */
  take(frame: AgentFrame, asked: Asked, nowMs: number): boolean {
    if (!GO_ON_RECORD.has(frame.type) || this.#isAnswer(frame, asked)) return true;
    this.#beginMinute(nowMs);
    return ++this.#unasked <= UNASKED_MAX;
  }

  /** False when so many results that nobody waits for are too many. */
  takeLate(results: number, nowMs: number): boolean {
    this.#beginMinute(nowMs);
    return (this.#late += results) <= LATE_MAX;
  }

  #beginMinute(nowMs: number): void {
    const sinceMs = nowMs - this.#sinceMs;
    if (sinceMs >= 0 && sinceMs < MINUTE_MS) return;
    this.#sinceMs = nowMs;
    this.#unasked = this.#late = 0;
  }

  /** True once for each question. */
  #isAnswer(frame: AgentFrame, { inspected, policyVersion }: Asked): boolean {
    if (frame.type === "state") {
      if (frame.serial <= this.#answered || frame.serial > inspected) return false;
      this.#answered = frame.serial;
      return true;
    }
    if (frame.type !== "policy_held" || frame.policy_version !== policyVersion) return false;
    const isNew = policyVersion !== this.#confirmed;
    this.#confirmed = policyVersion;
    return isNew;
  }
}
