import { type Tenant, tenantKey, tenantOf } from "../kv/collection.ts";
import { apiKeyUses } from "../kv/records/api_key.ts";
import type { Store } from "../kv/store.ts";
import type { Cancel } from "./ports.ts";

const FLUSH_MS = 1000;
const KEYS_MAX = 10_000;

/** Remembers when keys were last used, and writes it down at most once a second. */
export class KeyUses {
  #seen = new Map<string, number>();
  #timer: Cancel | null = null;

  constructor(
    private readonly store: Store,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** A key has just been used. */
  note(tenant: Tenant, id: string): void {
    if (this.#seen.size >= KEYS_MAX) return;
    this.#seen.set(`${tenantKey(tenant)}\t${id}`, this.store.clock.now());
    this.#timer ??= this.store.clock.after(FLUSH_MS, () => {
      this.#timer = null;
      this.flush().catch(this.onError);
    });
  }

  /** When a key was last used, in ms, or null. */
  async lastUsed(tenant: Tenant, id: string): Promise<number | null> {
    const noted = this.#seen.get(`${tenantKey(tenant)}\t${id}`);
    return noted ?? (await this.store.get(apiKeyUses, tenant, id))?.last_used_ms ?? null;
  }

  /** The key is gone: its use is nobody's any more. */
  forget(tenant: Tenant, id: string): void {
    this.#seen.delete(`${tenantKey(tenant)}\t${id}`);
  }

  /** Writes down what has been noted. */
  async flush(): Promise<void> {
    const seen = this.#seen;
    this.#seen = new Map();
    await Promise.all([...seen].map(([at, last_used_ms]) => {
      const [tenant, id] = at.split("\t") as [string, string];
      return this.store.transact((tx) =>
        tx.put(apiKeyUses, tenantOf(tenant), { id, last_used_ms })
      );
    }));
  }

  /** Writes down what is left and stops. */
  async stop(): Promise<void> {
    this.#timer?.();
    await this.flush();
  }
}
