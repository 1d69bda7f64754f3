import { deleteKey, setKey } from "../store/change.ts";
import type { Cancel } from "../store/clock.ts";
import type { Store } from "../store/store.ts";
import type { Tx } from "../store/tx.ts";

/** How often the rows are read without a wake, because a watch may miss some. */
const SWEEP_MS = 5_000;
/** The approximate size of a message, which only names records. */
const MESSAGE_BYTES = 256;
const DELETES_MAX = 500;
/** The lifetime of a message. No live instance leaves one unread for so long. */
const EXPIRE_MS = 60 * 60 * 1000;

const inboxKey = (to: string, id: string) => ["~", "inbox", to, id];
const inboxPrefix = (to: string) => ["~", "inbox", to];
/** The key that is set to each message to an instance, so that a watcher need not read the rows for it first. */
export const wakeKey = (to: string) => ["~", "wake", to];

/** Sends a message to another instance with the commit of `tx`. `id` must be new. */
export function stageMessage(
  tx: Pick<Tx, "stage">,
  to: string,
  id: string,
  message: unknown,
): void {
  tx.stage(
    setKey(inboxKey(to, id), message, MESSAGE_BYTES, EXPIRE_MS),
    setKey(wakeKey(to), { id, message }, MESSAGE_BYTES, EXPIRE_MS),
  );
}

/** Deletes the messages that a dead instance has not read. */
export async function dropInbox({ kv }: Store, of: string): Promise<void> {
  for await (const { key } of kv.list({ prefix: inboxPrefix(of) })) await kv.delete(key);
  await kv.delete(wakeKey(of));
}

/**
 * The messages that other instances sent to this one. The rows are the truth and the watched key is a hint. A row is
 * deleted after its message was handled, so a message may be handled twice and `handle` must be idempotent.
 */
export class Inbox {
  /** Messages that are being handled, or whose rows are still to be deleted. */
  readonly #known = new Set<string>();
  readonly #handled: string[] = [];
  /** Messages whose handling failed, until the next sweep. */
  #failed: string[] = [];
  #reading: Promise<void> | null = null;
  #again = false;
  #timer: Cancel | null = null;
  #stopped = false;

  constructor(
    private readonly store: Store,
    private readonly id: string,
    private readonly handle: (message: unknown) => Promise<void>,
    private readonly onError: (error: unknown) => void,
  ) {}

  start(): void {
    this.#sweepLater();
  }

  /** Stops taking messages and deletes the rows of those that were handled. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    await this.#reading;
    await this.#deleteHandled();
  }

  /** Handles the message that the key of `wakeKey` was set to, and reads the rows, because the watch may skip some. */
  wake(newest: unknown = null): Promise<void> {
    // An earlier release set the key to `true`.
    if (typeof newest === "object" && newest !== null && !this.#stopped) {
      const { id, message } = newest as { readonly id: string; readonly message: unknown };
      this.#take(id, message);
    }
    this.#again = true;
    return this.#reading ??= this.#readAll().catch((error) => {
      if (!this.store.closing) this.onError(error);
    }).finally(() => {
      this.#reading = null;
      // A wake that came after the last read of the rows needs another one.
      if (this.#again && !this.#stopped) this.wake();
    });
  }

  #sweepLater(): void {
    this.#timer = this.store.clock.after(SWEEP_MS, () => {
      this.#sweepLater();
      for (const id of this.#failed) this.#known.delete(id);
      this.#failed = [];
      this.wake();
    });
  }

  async #readAll(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      for await (const { key, value } of this.store.kv.list({ prefix: inboxPrefix(this.id) })) {
        this.#take(String(key.at(-1)), value);
      }
      await this.#deleteHandled();
    }
  }

  #take(id: string, message: unknown): void {
    if (this.#known.has(id)) return;
    this.#known.add(id);
    this.handle(message).then(
      () => this.#handled.push(id),
      (error) => {
        this.#failed.push(id);
        this.onError(error);
      },
    );
  }

  async #deleteHandled(): Promise<void> {
    while (this.#handled.length > 0) {
      const ids = this.#handled.splice(0, DELETES_MAX);
      try {
        await this.store.transact((tx) => {
          for (const id of ids) tx.stage(deleteKey(inboxKey(this.id, id)));
        });
        for (const id of ids) this.#known.delete(id);
      } catch (error) {
        this.#handled.push(...ids);
        throw error;
      }
    }
  }
}
