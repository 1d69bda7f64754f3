import type { Clock } from "../../../kv/store/clock.ts";
import type { Cancel } from "../../ports/ports.ts";
import type { Change } from "./changes.ts";

/** Changes are gathered for this long after the first one, so a resource is announced once in this time. */
const GATHER_MS = 100;
/** Resources that wait at most. Beyond it, one message says that any may have changed. */
export const PENDING_MAX = 100;

/** The changes that one subscriber will be told next. They are in memory only, so a new stream starts without any. */
export class PendingChanges {
  readonly #waiting = new Map<string, Change>();
  /** More resources changed than may wait. */
  #beyond = false;
  #cancel: Cancel | null = null;

  constructor(
    private readonly clock: Pick<Clock, "after">,
    /** Sends changes, or null when there were too many; false when the client has to read first. */
    private readonly send: (changes: readonly Change[] | null) => boolean,
  ) {}

  /** Keeps a change that the subscriber may read. */
  add(change: Change): void {
    this.#cancel ??= this.#sendLater();
    if (this.#beyond) return;
    const { type, id } = change.resource;
    this.#waiting.set(`${type} ${id}`, change);
    if (this.#waiting.size <= PENDING_MAX) return;
    this.#waiting.clear();
    this.#beyond = true;
  }

  /** Drops what waits. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #sendLater(): Cancel {
    return this.clock.after(GATHER_MS, () => {
      const sent = this.send(this.#beyond ? null : [...this.#waiting.values()]);
      this.#cancel = sent ? null : this.#sendLater();
      if (!sent) return;
      this.#waiting.clear();
      this.#beyond = false;
    });
  }
}
