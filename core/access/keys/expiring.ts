import { apiKeys } from "../../../kv/records/api_key.ts";
import type { Context } from "../../context/context.ts";
import { iso } from "../../codec/codec.ts";
import { notifyWithAdministrators } from "../people/notify.ts";

const BATCH_MAX = 100;

/** Notifies the creator and the administrators of each key that expires soon, once. */
export async function notifyOfExpiringKeys(
  context: Pick<Context, "store" | "ports" | "signals">,
): Promise<void> {
  const { store, ports } = context;
  for (;;) {
    const before = [ports.clock.now() + 1];
    const { items } = await store.queued(apiKeys, "expiring", { limit: BATCH_MAX, before });
    for (const { tenant, record: { id } } of items) {
      await store.transact(async (tx) => {
        const key = await tx.get(apiKeys, tenant, id);
        if (key === null || key.expiry_told || key.revoked_at_ms !== null) return;
        tx.put(apiKeys, tenant, { ...key, expiry_told: true });
        if (ports.clock.now() >= key.expires_at_ms) return;
        const { name, masked, expires_at_ms } = key;
        const resource = { type: "api_key", id };
        const details = { name, masked, expires_at: iso(expires_at_ms) };
        const notice = { type: "api_key_expiring", resource, details } as const;
        await notifyWithAdministrators(context, tx, tenant, notice, key.created_by);
      });
    }
    if (items.length < BATCH_MAX) return;
  }
}
