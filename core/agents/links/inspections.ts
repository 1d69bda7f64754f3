import type { Clock } from "../../ports/ports.ts";
import type { InspectFrame, StateFrame } from "../../protocol/protocol.ts";

/** How long an agent may take to report its state. */
const ANSWER_MS = 5_000;

/** The `inspect` frames of one link, and the callers that wait for the answers. */
export class Inspections {
  #serial = 0;
  readonly #waiting = new Map<number, (state: StateFrame | null) => void>();

  constructor(private readonly clock: Clock) {}

  /** The serial of the last `inspect`. */
  get serial(): number {
    return this.#serial;
  }

  /** The next `inspect`. */
  next(): InspectFrame {
    return { type: "inspect", serial: ++this.#serial };
  }

  /** Sends an `inspect` and waits; null without an answer in time, or when `send` returns false for a closed link. */
  ask(send: (frame: InspectFrame) => boolean): Promise<StateFrame | null> {
    const frame = this.next();
    return new Promise((resolve) => {
      const end = (state: StateFrame | null) => {
        cancel();
        this.#waiting.delete(frame.serial);
        resolve(state);
      };
      const cancel = this.clock.after(ANSWER_MS, () => end(null));
      this.#waiting.set(frame.serial, end);
      if (!send(frame)) end(null);
    });
  }

  /** Passes on an answer that has been recorded. */
  answered(state: StateFrame): void {
    this.#waiting.get(state.serial)?.(state);
  }

  /** Answers every caller with null, because the link has closed. */
  end(): void {
    for (const end of [...this.#waiting.values()]) end(null);
  }
}
