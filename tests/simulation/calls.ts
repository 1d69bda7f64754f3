import { setImmediate } from "node:timers";
import type { Random } from "../support/random.ts";

/** How a call of a process fails. */
export type Fault = "refused" | "reply lost" | "late";
/** The longest time that a late call takes: past the bound of the store's calls. */
const LATE_MS_MAX = 20_000;

/** A process, as its calls see it. */
export interface Caller {
  state: "awake" | "frozen" | "dead";
  /** The share of its calls that fail. */
  faults: number;
}

interface Step {
  readonly of: Caller;
  /** True once the call has left the process: a frozen process does not hold it up. */
  readonly sent: boolean;
  readonly dueMs: number;
  readonly run: () => void;
}

/** How many turns the product's own waits take at most. */
const TURNS = 5;
/** One turn of the event loop: every microtask has run. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The work of other threads in the order of its start. Each ends in telling the process that asked for it. */
let ciphers: Promise<() => void>[] = [];
const subtle = crypto.subtle as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
for (
  const name of ["deriveBits", "digest", "exportKey", "generateKey", "importKey", "sign", "verify"]
) {
  const real = subtle[name]!.bind(subtle);
  // A result is told once everything else has come to rest, so that its speed changes no order.
  subtle[name] = (...args) =>
    new Promise((resolve, reject) => {
      ciphers.push(
        real(...args).then(
          (result) => () => resolve(result),
          (error) => () => reject(error),
        ),
      );
    });
}

/** All calls under way of all processes. Each takes effect, and each answer arrives, in an order that dice decide. */
export class Calls {
  #steps: Step[] = [];
  nowMs = 0;
  /** How many calls failed, by fault. */
  readonly faults: Record<Fault, number> = { refused: 0, "reply lost": 0, late: 0 };

  constructor(private readonly dice: Random) {
    ciphers = [];
  }

  /** Makes a call of a process; its effect and its answer come later, and may fail. */
  make<R>(of: Caller, effect: () => R, faults: readonly Fault[]): Promise<R> {
    const fault = this.#faultOf(of, faults);
    return new Promise((resolve, reject) => {
      const answer = (run: () => void) =>
        this.#steps.push({ of, sent: false, dueMs: this.nowMs, run });
      if (fault === "refused") {
        return answer(() => reject(new Error("connection reset before the request was sent")));
      }
      const waitMs = fault === "late" ? 1_000 + this.dice.below(LATE_MS_MAX) : 0;
      const run = () => {
        try {
          const result = effect();
          if (fault !== "reply lost") return answer(() => resolve(result));
          answer(() => reject(new Error("connection reset before the reply came")));
        } catch (error) {
          answer(() => reject(error));
        }
      };
      this.#steps.push({ of, sent: true, dueMs: this.nowMs + waitMs, run });
    });
  }

  /** Tells a process something that may come late, out of order or not at all. */
  hint(to: Caller, deliver: () => void): void {
    const isLost = to.faults > 0 && this.dice.chance(0.2);
    if (isLost) return;
    const waitMs = to.faults > 0 && this.dice.chance(0.2) ? this.dice.below(4_000) : 0;
    this.#steps.push({ of: to, sent: false, dueMs: this.nowMs + waitMs, run: deliver });
  }

  /** Waits for some time, outside of all processes. */
  pause(ms: number): Promise<void> {
    const of: Caller = { state: "awake", faults: 0 };
    return new Promise((run) => this.#steps.push({ of, sent: false, dueMs: this.nowMs + ms, run }));
  }

  /** Runs something in a process as soon as it is awake. */
  whenAwake(of: Caller, run: () => void): void {
    if (of.state === "awake") run();
    else if (of.state === "frozen") this.whenReady(of, run);
  }

  /** Runs something in a process, once it is awake, in any order with the answers to its calls. */
  whenReady(of: Caller, run: () => void): void {
    this.#steps.push({ of, sent: false, dueMs: 0, run });
  }

  /** Forgets the calls of a process that died: none of them takes effect from now on. */
  forget(of: Caller): void {
    of.state = "dead";
    this.#steps = this.#steps.filter((step) => step.of !== of);
  }

  /** Runs what can run at this instant, one step after the other, at most `max` of them. */
  async settle(max = Infinity): Promise<void> {
    for (let n = 0; n < max; n++) {
      await this.#rest();
      const ready = this.#steps.filter(({ of, sent, dueMs }) =>
        dueMs <= this.nowMs && (sent || of.state === "awake")
      );
      if (ready.length === 0) return;
      const step = this.dice.pick(ready);
      this.#steps.splice(this.#steps.indexOf(step), 1);
      step.run();
    }
  }

  /** Waits until all processes wait for calls or for time. */
  async #rest(): Promise<void> {
    for (;;) {
      // A commit waits up to four turns for company.
      for (let turns = 0; turns < TURNS; turns++) await turn();
      const next = ciphers.shift();
      if (next === undefined) return;
      (await next)();
    }
  }

  #faultOf({ faults }: Caller, possible: readonly Fault[]): Fault | null {
    if (faults === 0 || possible.length === 0 || !this.dice.chance(faults)) return null;
    const fault = this.dice.pick(possible);
    this.faults[fault]++;
    return fault;
  }
}
