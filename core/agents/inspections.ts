import type { Clock } from "../ports/ports.ts";
import type { InspectFrame, StateFrame } from "../protocol/transfers.ts";

/** How long an agent may take to tell its state. */
const ANSWER_MS = 5_000;

/** What one link asks its agent of what it holds, and who waits for the answers. */
export class Inspections {
  #serial = 0;
  readonly #asked = new Map<number, (state: StateFrame | null) => void>();

  constructor(private readonly clock: Clock) {}

  /** The serial of the last question. */
  get serial(): number {
    return this.#serial;
  }

  /** The next question. */
  next(): InspectFrame {
    return { type: "inspect", serial: ++this.#serial };
  }

  /** Asks by `send`, which is false when that cannot be; null when no answer comes in time. */
  ask(send: (frame: InspectFrame) => boolean): Promise<StateFrame | null> {
    const frame = this.next();
    return new Promise((resolve) => {
      const end = (state: StateFrame | null) => {
        cancel();
        this.#asked.delete(frame.serial);
        resolve(state);
      };
      const cancel = this.clock.after(ANSWER_MS, () => end(null));
      this.#asked.set(frame.serial, end);
      if (!send(frame)) end(null);
    });
  }

  /** An answer has come, and is on record. */
  answered(state: StateFrame): void {
    this.#asked.get(state.serial)?.(state);
  }

  /** No answer comes any more. */
  end(): void {
    for (const end of [...this.#asked.values()]) end(null);
  }
}
