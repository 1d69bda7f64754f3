import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { webhooks } from "../../../kv/records/webhook.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { addToTally, dropTally, raiseTally, readTally } from "../../../kv/store/tally.ts";
import type { Cancel } from "../../ports/ports.ts";

const COUNT = "deliveries";
const LATEST = "deliveries_latest";
/** A crash loses the counts of less than a second, including the time that the commit takes. */
const FLUSH_MS = 500;
/** Webhooks whose counts one commit writes; each needs one check. */
const AT_ONCE = 64;
const AT_ONCE_SHARED = 8; // a self-hosted denokv takes 10 checks

interface Count {
  readonly tenant: Tenant;
  readonly webhookId: string;
  n: number;
  /** When the latest attempt ended. */
  latestMs: number;
}

/**
 * Counts the ended attempts of each webhook in memory and writes the counts within a second. Counts that cannot be
 * written are kept for the next commit, so a commit with an unknown outcome may count twice.
 */
export class AttemptCounts {
  readonly #counts = new Map<string, Count>();
  #timer: Cancel | null = null;
  #flushing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Counts one attempt. */
  add(tenant: Tenant, webhookId: string): void {
    const id = `${tenantKey(tenant)}/${webhookId}`;
    const { clock } = this.store;
    const latestMs = clock.now();
    const count = this.#counts.get(id);
    if (count === undefined) this.#counts.set(id, { tenant, webhookId, n: 1, latestMs });
    else {
      count.n++;
      count.latestMs = latestMs;
    }
    this.#timer ??= clock.after(FLUSH_MS, () => {
      this.#timer = null;
      this.flush().catch(this.onError);
    });
  }

  /** How many attempts there were, and when the latest ended; null for none. */
  async of(tenant: Tenant, webhookId: string): Promise<{ n: number; latestMs: number | null }> {
    if (this.#counts.size > 0) await this.flush();
    const [n, latestMs] = await Promise.all(
      [COUNT, LATEST].map((name) => readTally(this.store, tenant, name, webhookId)),
    );
    return { n: n!, latestMs: latestMs || null };
  }

  /** Resolves when everything counted before the call is in the store. */
  flush(): Promise<void> {
    this.#timer?.();
    this.#timer = null;
    return this.#flushing = this.#flushing.catch(() => {}).then(() => this.#write());
  }

  /** Writes the remaining counts. */
  async stop(): Promise<void> {
    await this.flush().catch(this.onError);
  }

  async #write(): Promise<void> {
    const { store } = this;
    const most = store.sole ? AT_ONCE : AT_ONCE_SHARED;
    const due = [...this.#counts].map(([id, count]) => ({ id, ...count }));
    for (let at = 0; at < due.length; at += most) {
      const some = due.slice(at, at + most);
      await store.transact(async (tx) => {
        for (const { tenant, webhookId, n, latestMs } of some) {
          // A deleted webhook must not get a count again.
          if (await tx.get(webhooks, tenant, webhookId) === null) continue;
          addToTally(tx, tenant, COUNT, webhookId, n);
          raiseTally(tx, tenant, LATEST, webhookId, latestMs);
        }
      });
      for (const { id, n } of some) {
        const count = this.#counts.get(id)!;
        count.n -= n;
        if (count.n === 0) this.#counts.delete(id);
      }
    }
  }
}

/** Drops the counts of a webhook, in the transaction that deletes it. */
export function dropAttemptCounts(tx: Tx, tenant: Tenant, webhookId: string): void {
  for (const name of [COUNT, LATEST]) dropTally(tx, tenant, name, webhookId);
}
