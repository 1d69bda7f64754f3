import type { Relay } from "../core/relay.ts";
import { type Actor, CHECK_SHARED_MS, nextCheckOf } from "../core/identity/identity.ts";
import { dueAt } from "../kv/store/clock.ts";

/** Lost rights are gone from open answers within 1 s; finding that out may take half of it. */
const CHECK_MS = 500;

interface Check {
  /** Authenticates the caller again; null when that could not be done or is no longer needed. */
  readonly again: () => Promise<Actor | null>;
  nextMs: number;
  /** A slow store must not pile checks up. */
  running: boolean;
}

/**
 * Authenticates the callers of open answers again: every CHECK_MS for a sole process. Where instances share the
 * store, at each change of rights that any of them announces, at the credential's end, and every CHECK_SHARED_MS.
 */
export class Rechecks {
  readonly #all = new Set<Check>();
  /** Counts the announcements: a check that began before the last one may have read older rights. */
  #announced = 0;
  #timer: (() => void) | null = null;

  constructor(private readonly context: Pick<Relay, "ports" | "signals" | "store">) {
    context.signals.rightsAnnounced.on(() => {
      this.#announced++;
      for (const check of this.#all) check.nextMs = 0;
      this.#run();
    });
  }

  /** Checks a caller from now on; `again` must not throw. Returns how to stop. */
  add(again: Check["again"]): () => void {
    const check: Check = { again, nextMs: 0, running: false };
    this.#all.add(check);
    this.#timer ??= this.#later();
    return () => {
      this.#all.delete(check);
      if (this.#all.size > 0) return;
      this.#timer?.();
      this.#timer = null;
    };
  }

  #later(): () => void {
    return this.context.ports.clock.after(CHECK_MS, () => {
      this.#timer = this.#later();
      this.#run();
    });
  }

  #run(): void {
    const nowMs = this.context.ports.clock.now();
    for (const check of this.#all) {
      if (!check.running && nowMs >= dueAt(check.nextMs, CHECK_SHARED_MS, nowMs)) {
        this.#check(check);
      }
    }
  }

  async #check(check: Check): Promise<void> {
    const announced = this.#announced;
    check.running = true;
    const actor = await check.again();
    check.running = false;
    const { ports: { clock }, store } = this.context;
    if (actor === null || store.sole || announced !== this.#announced) return;
    check.nextMs = nextCheckOf(actor, clock.now());
  }
}
