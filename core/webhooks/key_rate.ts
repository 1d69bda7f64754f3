import { apiKeys } from "../../kv/records/api_key.ts";
import { webhooks } from "../../kv/records/webhook.ts";
import type { App } from "../work/work.ts";
import type { Lane } from "./scheduler/scheduler.ts";

/**
 * How many of so many due deliveries a webhook may send now. Only those that an API key created have a
 * limit; beyond it the lane waits for the next minute, and nothing is dropped.
 */
export async function rateOf(app: App, lane: Lane, due: number): Promise<number> {
  const webhook = await app.store.get(webhooks, lane.tenant, lane.webhookId);
  if (!webhook?.created_by_key) return due;
  const id = webhook.created_by_key;
  const key = await app.store.get(apiKeys, lane.tenant, id);
  const { type, limits } = key ?? { type: lane.tenant.space, limits: null };
  for (let n = 0; n < due; n++) {
    const { admitted, resetMs } = await app.limiter.takeForDelivery({ id, type, limits });
    if (admitted) continue;
    lane.notBeforeMs = resetMs;
    return n;
  }
  return due;
}
