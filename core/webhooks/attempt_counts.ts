import { type Tenant, tenantKey } from "../../kv/collection.ts";
import { webhooks } from "../../kv/records/webhook.ts";
import type { Store } from "../../kv/store.ts";
import { addToTally, readTally } from "../../kv/tally.ts";
import type { Cancel } from "../ports.ts";

const NAME = "deliveries";
/** With the commit that follows, what a crash can lose is less than a second's counts. */
const FLUSH_MS = 500;
/** Webhooks that one commit counts for: each is a check. */
const AT_ONCE = 64;
const AT_ONCE_SHARED = 8; // a self-hosted denokv takes 10 checks

interface Count {
  readonly tenant: Tenant;
  readonly webhookId: string;
  n: number;
}

/** Counts the attempts of each webhook that have ended: in memory, and written down within a second. */
export class AttemptCounts {
  #counts = new Map<string, Count>();
  #timer: Cancel | null = null;
  #flushing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: () => Store,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** One more. */
  add(tenant: Tenant, webhookId: string): void {
    const id = `${tenantKey(tenant)}/${webhookId}`;
    const count = this.#counts.get(id);
    if (count === undefined) this.#counts.set(id, { tenant, webhookId, n: 1 });
    else count.n++;
    this.#timer ??= this.store().clock.after(FLUSH_MS, () => {
      this.#timer = null;
      this.flush().catch(this.onError);
    });
  }

  /** How many there were. */
  async of(tenant: Tenant, webhookId: string): Promise<number> {
    if (this.#counts.size > 0) await this.flush();
    else await this.#flushing;
    return await readTally(this.store(), tenant, NAME, webhookId);
  }

  /** Resolves when all that was counted before it is in the store. */
  flush(): Promise<void> {
    this.#timer?.();
    this.#timer = null;
    return this.#flushing = this.#flushing.catch(() => {}).then(() => this.#write());
  }

  /** Writes down what is left. */
  async stop(): Promise<void> {
    await this.flush().catch(this.onError);
  }

  async #write(): Promise<void> {
    const store = this.store();
    const most = store.sole ? AT_ONCE : AT_ONCE_SHARED;
    const due = [...this.#counts.values()];
    this.#counts = new Map();
    for (let at = 0; at < due.length; at += most) {
      await store.transact(async (tx) => {
        for (const { tenant, webhookId, n } of due.slice(at, at + most)) {
          // A webhook that is gone has no count, and gets none.
          const webhook = await tx.get(webhooks, tenant, webhookId);
          if (webhook !== null) addToTally(tx, tenant, NAME, webhookId, n);
        }
      });
    }
  }
}
