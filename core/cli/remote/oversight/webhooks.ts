import type {
  Delivery,
  DeliveryEventType,
  DeliveryStatus,
  WebhookEventType,
} from "../../../client/client.ts";
import { UsageError } from "../../arguments.ts";
import type { Call, Run } from "../command.ts";

/** `relay webhooks ls` */
export const listWebhooks: Run = async ({ relay, number, out }) => {
  const answer = await relay().call("webhooks.list", {
    query: { limit: number("limit"), offset: number("offset") },
  });
  const { webhooks, pagination } = answer;
  await out.list(
    answer,
    ["ID", "NAME", "STATE", "LAST DELIVERY", "ADDRESS", "EVENTS"],
    webhooks.map((webhook) =>
      [
        webhook.id,
        webhook.name,
        webhook.suspended === null ? webhook.active ? "active" : "disabled" : "suspended",
        webhook.last_delivery_at,
        webhook.url,
        webhook.events.join(","),
      ] as const
    ),
  );
  if (pagination.has_more) {
    await out.note(`${webhooks.length} of ${pagination.total}: use --offset.`);
  }
};

/** `relay webhooks create` */
export const createWebhook: Run = async (
  { relay, args: [name = "", url = ""], list, has, host, out },
) => {
  const events = list("type") as WebhookEventType[];
  if (events.length === 0) throw new UsageError("Give it an event type: --type command_denied.");
  const headers = Object.fromEntries(list("header").map(headerOf));
  const secret = has("secret-stdin") ? host.readLine().trim() : undefined;
  const webhook = await relay().call("webhooks.create", {
    body: { name, url, events, headers, secret, active: !has("inactive") },
  });
  await out.item(webhook, webhook.id, [
    ["id", webhook.id],
    ["name", webhook.name],
    ["address", webhook.url],
    ["events", webhook.events.join(",")],
    ["secret", webhook.secret],
  ]);
  if (webhook.secret !== undefined) {
    await out.note("Store the secret now: no later answer shows it.");
  }
};

/** @throws {UsageError} */
function headerOf(text: string): [name: string, value: string] {
  const [, name, value] = /^([^:]+):\s*(.*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name.trim(), value];
  throw new UsageError(`The header ${JSON.stringify(text)} is not like "name: value".`);
}

/** `relay webhooks deliveries` */
export const listDeliveries: Run = async ({ relay, args: [id = ""], text, number, out }) => {
  const answer = await relay().call("webhooks.deliveries", {
    params: { id },
    query: {
      status: text("status") as DeliveryStatus | undefined,
      event_type: text("type") as DeliveryEventType | undefined,
      limit: number("limit"),
      offset: number("offset"),
    },
  });
  const { deliveries, pagination } = answer;
  await out.list(
    answer,
    ["ID", "CREATED", "TYPE", "STATUS", "HTTP", "ATTEMPT", "NEXT ATTEMPT", "ERROR"],
    deliveries.map((delivery) =>
      [
        delivery.id,
        delivery.created_at,
        delivery.event_type,
        delivery.held ? "held" : delivery.status,
        delivery.http_status,
        delivery.attempt,
        delivery.next_attempt_at,
        delivery.error,
      ] as const
    ),
  );
  if (pagination.has_more) {
    await out.note(`${deliveries.length} of ${pagination.total}: use --offset.`);
  }
};

/** `relay webhooks resend` */
export const resendDelivery: Run = async (call) => {
  const { relay, args: [id = "", del_id = ""] } = call;
  await print(
    call,
    await relay().call("webhooks.resend", { params: { id, del_id }, body: {} }),
  );
};

/** `relay webhooks trigger` */
export const triggerWebhook: Run = async (call) => {
  const { relay, args: [id = ""], text } = call;
  const event_type = text("type") as DeliveryEventType | undefined;
  await print(
    call,
    await relay().call("webhooks.test", { params: { id }, body: { event_type } }),
  );
};

async function print({ out }: Call, delivery: Delivery): Promise<void> {
  const { id, event_type, status, webhook_id } = delivery;
  await out.item(delivery, id, [["id", id], ["type", event_type], ["status", status]]);
  await out.note(`It is sent now. See: relay webhooks deliveries ${webhook_id}`);
}
