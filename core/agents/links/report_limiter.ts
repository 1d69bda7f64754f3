import { isWithin } from "../../../kv/store/clock.ts";
import { MINUTE_MS } from "../../../kv/store/durations.ts";
import { type AgentFrame, MAX_CONCURRENT_COMMANDS } from "../../protocol/protocol.ts";

/** Frames that each write something; without a limit an agent could fill the log. */
const WRITE_EVENTS: ReadonlySet<AgentFrame["type"]> = new Set([
  "heartbeat",
  "policy_held",
  "state",
  "checkpoint_kept",
  "checkpoint_refused",
]);
/** Such frames a minute, not counting answers to the relay's own frames. */
const UNSOLICITED_MAX = 60;
/**
 * Results a minute that no command waits for; each costs a read. An agent keeps at most the results of its
 * running commands, and twice that number of unconfirmed results to send again.
 */
const LATE_MAX = 4 * MAX_CONCURRENT_COMMANDS;

/** The last questions that a link asked its agent. */
export interface Asked {
  /** The serial of the last `inspect`. */
  readonly inspected: number;
  /** The version of the policies that were sent last. */
  readonly policyVersion: string;
}

/** Limits the reports of one agent over one link. */
export class AgentReportLimiter {
  #answered = 0;
  #confirmed = "";
  #unsolicited = 0;
  #late = 0;
  #sinceMs = 0;

  /** False for a frame beyond the limit. */
  take(frame: AgentFrame, asked: Asked, nowMs: number): boolean {
    if (!WRITE_EVENTS.has(frame.type) || this.#isAnswer(frame, asked)) return true;
    this.#beginMinute(nowMs);
    return ++this.#unsolicited <= UNSOLICITED_MAX;
  }

  /** Takes this many results that no command waits for; false beyond the limit. */
  takeLate(results: number, nowMs: number): boolean {
    this.#beginMinute(nowMs);
    return (this.#late += results) <= LATE_MAX;
  }

  #beginMinute(nowMs: number): void {
    if (isWithin(this.#sinceMs, MINUTE_MS, nowMs)) return;
    this.#sinceMs = nowMs;
    this.#unsolicited = this.#late = 0;
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
