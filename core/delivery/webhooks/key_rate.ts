import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { webhooks } from "../../../kv/records/webhook.ts";
import type { Context } from "../../context/context.ts";
import type { Receiver } from "./scheduler/receiver.ts";

/** The parts of the relay that limit the deliveries of an API key. */
export interface KeyRateParts extends Pick<Context, "store"> {
  readonly limiter: {
    takeForDelivery(
      key: Pick<ApiKeyRecord, "id" | "type" | "limits">,
    ): Rate | Promise<Rate>;
  };
}
interface Rate {
  readonly admitted: boolean;
  readonly resetMs: number;
}

/**
 * How many of `due` deliveries a webhook may send now. Only webhooks that an API key created have a rate limit;
 * beyond it the receiver waits for the next minute, and no delivery is dropped.
 */
export async function admitByKeyRate(
  { store, limiter }: KeyRateParts,
  receiver: Receiver,
  due: number,
): Promise<number> {
  const { tenant, webhookId } = receiver;
  const webhook = await store.get(webhooks, tenant, webhookId);
  if (!webhook?.created_by_key) return due;
  const id = webhook.created_by_key;
  const key = await store.get(apiKeys, tenant, id);
  const { type, limits } = key ?? { type: tenant.space, limits: null };
  for (let n = 0; n < due; n++) {
    const { admitted, resetMs } = await limiter.takeForDelivery({ id, type, limits });
    if (admitted) continue;
    receiver.notBeforeMs = resetMs;
    return n;
  }
  return due;
}
