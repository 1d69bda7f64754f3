import type { AgentFrame } from "../protocol.ts";

/** What an agent says of itself goes on record, so that one that says it without end would fill the log. */
const GO_ON_RECORD: ReadonlySet<AgentFrame["type"]> = new Set([
  "heartbeat",
  "policy_held",
  "state",
  "checkpoint_refused",
]);
/** So many of them a minute that nobody has asked for. */
const UNASKED_MAX = 60;
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
  #sinceMs = 0;

  /** False for a frame too many. */
  take(frame: AgentFrame, asked: Asked, nowMs: number): boolean {
    if (!GO_ON_RECORD.has(frame.type) || this.#isAnswer(frame, asked)) return true;
    if (nowMs - this.#sinceMs >= MINUTE_MS) {
      this.#sinceMs = nowMs;
      this.#unasked = 0;
    }
    return ++this.#unasked <= UNASKED_MAX;
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
