import type { Tenant } from "../../../kv/store/collection.ts";
import { deliveries, webhooks } from "../../../kv/records/webhook.ts";
import { readStored } from "../../../kv/store/scan.ts";
import { indexKeys } from "../../../kv/store/iterate.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Context } from "../../context/context.ts";
import { batchOf, dropDelivery } from "./ledger.ts";

/** Webhooks that one round checks: with 10,000 webhooks each is checked within ten minutes. */
const WEBHOOKS_PER_ROUND = 500;
/** Deliveries that one round removes, so that it ends soon. */
const DROPPED_PER_ROUND = 2_000;

/** Where the next round continues, for each store. Losing it only restarts from the first webhook. */
const cursors = new WeakMap<Store, string>();

/**
 * Removes expired deliveries with their index entries and attempts, and returns how many. It checks the oldest
 * deliveries of each webhook, and continues as long as some of them have expired.
 */
export async function dropExpired(parts: Pick<Context, "store" | "ports">): Promise<number> {
  const { store } = parts;
  const page = await store.queued(webhooks, "all", {
    limit: WEBHOOKS_PER_ROUND,
    cursor: cursors.get(store) ?? null,
  });
  let dropped = 0;
  for (const { tenant, record: { id } } of page.items) {
    for (let more = true; more && dropped < DROPPED_PER_ROUND;) {
      const some = await dropOldest(parts, tenant, id);
      dropped += some;
      more = some > 0;
    }
  }
  // At the limit, the next round continues with the webhooks of this one.
  if (dropped >= DROPPED_PER_ROUND) return dropped;
  if (page.cursor === null) cursors.delete(store);
  else cursors.set(store, page.cursor);
  return dropped;
}

/** One commit: removes the expired ones among the oldest deliveries of a webhook. */
async function dropOldest(
  { store, ports }: Pick<Context, "store" | "ports">,
  tenant: Tenant,
  webhookId: string,
): Promise<number> {
  const oldest = { prefix: [webhookId], limit: batchOf(store) };
  const ids: string[] = [];
  for await (const key of indexKeys(store, deliveries, tenant, "log", oldest)) {
    ids.push(String(key.at(-1)));
  }
  const now = ports.clock.now();
  const over = (await readStored(store, deliveries, tenant, ids))
    .filter(({ expires_at_ms }) => expires_at_ms <= now);
  if (over.length === 0) return 0;
  return await store.transact(async (tx) => {
    let dropped = 0;
    for (const { id } of over) {
      const record = await tx.getStored(deliveries, tenant, id);
      if (record === null) continue;
      dropDelivery(tx, tenant, record, "expired");
      dropped++;
    }
    return dropped;
  });
}
