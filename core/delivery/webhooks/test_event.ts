import type { Tenant } from "../../../kv/store/collection.ts";
import type { DeliveryRecord } from "../../../kv/records/webhook.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Writing } from "../../work/work.ts";
import { iso } from "../../codec/codec.ts";
import { PING, WEBHOOK_EVENTS, type WebhookEventType } from "../../events/events.ts";
import { mustBeEnabled, ownedWebhook } from "./checks.ts";
import type { Sendable } from "./fan_out.ts";
import { showDelivery } from "./show.ts";

/** Creates a delivery outside fan-out, in the transaction. */
interface DeliveryCreator {
  create(tx: Tx, tenant: Tenant, webhookId: string, event: Sendable): DeliveryRecord;
}

/**
 * Sends a ping, or the example of an event type, whatever the webhook subscribes to.
 * @throws {Fault} NOT_FOUND, CONFLICT for a disabled webhook
 */
export async function testWebhook(
  work: Writing,
  deliveries: DeliveryCreator,
  id: string,
  type: WebhookEventType | typeof PING.type,
) {
  const { actor, ports, request, tx } = work;
  const webhook = await ownedWebhook(work, id);
  mustBeEnabled(webhook);
  const payload = type === PING.type
    ? { message: "The webhook works.", webhook_id: id, events: webhook.events }
    : WEBHOOK_EVENTS[type].example;
  const delivery = deliveries.create(tx, actor.tenant, id, {
    id: ports.entropy.uuid(),
    type,
    at: iso(ports.clock.now()),
    payload,
    traceparent: request.trace?.carried.traceparent,
  });
  return showDelivery(delivery);
}
