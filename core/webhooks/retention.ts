import type { Tenant } from "../../kv/store/collection.ts";
import { deliveries, webhooks } from "../../kv/records/webhook.ts";
import { readStored } from "../../kv/store/scan.ts";
import { indexKeys } from "../../kv/store/walk.ts";
import type { App } from "../work/work.ts";
import { batchOf, dropDelivery } from "./ledger.ts";

/** Webhooks that one round looks at: with 10,000 of them each has its turn in ten minutes. */
const WEBHOOKS_PER_ROUND = 500;
/** Deliveries that one round removes, so that it ends soon. */
const DROPPED_PER_ROUND = 2_000;

/** Where the next round goes on, by app. */
const cursors = new WeakMap<App, string>();

/**
 * Removes deliveries that are over their time, with their index entries and attempts; answers how many. Of each
 * webhook the oldest are looked at, and more of it as long as some of those are over their time.
 */
export async function dropExpired(app: App): Promise<number> {
  const page = await app.store.queued(webhooks, "all", {
    limit: WEBHOOKS_PER_ROUND,
    cursor: cursors.get(app) ?? null,
  });
  let dropped = 0;
  for (const { tenant, record: { id } } of page.items) {
    for (let more = true; more && dropped < DROPPED_PER_ROUND;) {
      const some = await dropOldest(app, tenant, id);
      dropped += some;
      more = some > 0;
    }
  }
  // What is left of this round's webhooks is found in the next one.
  if (dropped >= DROPPED_PER_ROUND) return dropped;
  if (page.cursor === null) cursors.delete(app);
  else cursors.set(app, page.cursor);
  return dropped;
}

/** One commit: the oldest deliveries of a webhook, as far as they are over their time. */
async function dropOldest(app: App, tenant: Tenant, webhookId: string): Promise<number> {
  const oldest = { prefix: [webhookId], limit: batchOf(app.store) };
  const ids: string[] = [];
  for await (const key of indexKeys(app.store, deliveries, tenant, "log", oldest)) {
    ids.push(String(key.at(-1)));
  }
  const now = app.ports.clock.now();
  const over = (await readStored(app.store, deliveries, tenant, ids))
    .filter(({ expires_at_ms }) => expires_at_ms <= now);
  if (over.length === 0) return 0;
  return await app.store.transact(async (tx) => {
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
