import type { Writing } from "../work/work.ts";
import { iso } from "../codec/instant.ts";
import { PING, WEBHOOK_EVENTS, type WebhookEventType } from "../events/types/webhook_events.ts";
import { mustBeEnabled, ownedWebhook } from "./checks.ts";
import { showDelivery } from "./show.ts";

/**
 * Sends a ping, or the example of an event type, whatever the webhook subscribes to.
 * @throws {Fault} NOT_FOUND, CONFLICT for a disabled webhook
 */
export async function testWebhook(
  work: Writing,
  id: string,
  type: WebhookEventType | typeof PING.type,
) {
  const { app, actor, tx } = work;
  const webhook = await ownedWebhook(work, id);
  mustBeEnabled(webhook);
  const payload = type === PING.type
    ? { message: "The webhook works.", webhook_id: id, events: webhook.events }
    : WEBHOOK_EVENTS[type].example;
  const delivery = app.deliveries.create(tx, actor.tenant, id, {
    id: app.ports.entropy.uuid(),
    type,
    at: iso(app.ports.clock.now()),
    payload,
  });
  return showDelivery(delivery);
}
