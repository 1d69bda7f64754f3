import { apiKeys } from "../../../kv/records/api_key.ts";
import type { App } from "../../work/work.ts";
import { iso } from "../../codec/instant.ts";
import { notifyWithAdministrators } from "../people/notify.ts";

const BATCH_MAX = 100;

/** Tells of keys that expire soon, each once: its creator and the administrators. */
export async function tellOfExpiring(app: App): Promise<void> {
  for (;;) {
    const before = [app.ports.clock.now() + 1];
    const { items } = await app.store.queued(apiKeys, "expiring", { limit: BATCH_MAX, before });
    for (const { tenant, record: { id } } of items) {
      await app.store.transact(async (tx) => {
        const key = await tx.get(apiKeys, tenant, id);
        if (key === null || key.expiry_told || key.revoked_at_ms !== null) return;
        tx.put(apiKeys, tenant, { ...key, expiry_told: true });
        if (app.ports.clock.now() >= key.expires_at_ms) return;
        const { name, masked, expires_at_ms } = key;
        const resource = { type: "api_key", id };
        const details = { name, masked, expires_at: iso(expires_at_ms) };
        const notice = { type: "api_key_expiring", resource, details } as const;
        await notifyWithAdministrators(app, tx, tenant, notice, key.created_by);
      });
    }
    if (items.length < BATCH_MAX) return;
  }
}
