import type { Tenant } from "../../kv/collection.ts";
import {
  deliveries,
  type DeliveryRecord,
  type WebhookRecord,
  webhooks,
} from "../../kv/records/webhook.ts";
import { addToTally } from "../../kv/tally.ts";
import type { Tx } from "../../kv/tx.ts";
import type { App } from "../app.ts";
import { emit, RELAY_ACTOR } from "../events.ts";
import { OutboundError } from "../ports.ts";
import { mergeCustomHeaders } from "./custom_headers.ts";
import { isWebhookEvent } from "./event_types.ts";
import { nextDelayMs, RetryPolicy } from "./retry_policy.ts";
import { signDelivery } from "./signing.ts";
import { mayReceive } from "./webhooks.ts";

/** Longer than one attempt's deadline of 10 s, so that a lease only ends when its process died. */
export const LEASE_MS = 30_000;
const RESPONSE_BYTES_KEPT = 4 * 1024;

/** How one attempt ended. */
interface Attempt {
  readonly status: "succeeded" | "failed" | "timed_out";
  readonly httpStatus: number | null;
  readonly responseBody: string;
  readonly error: string | null;
  readonly tookMs: number;
}

/** Sends a claimed delivery and records how it went. */
export async function attemptDelivery(
  app: App,
  tenant: Tenant,
  delivery: DeliveryRecord,
): Promise<void> {
  const webhook = await app.store.get(webhooks, tenant, delivery.webhook_id);
  if (webhook === null) {
    await app.store.transact((tx) => tx.delete(deliveries, tenant, delivery.id));
    return;
  }
  if (!await maySend(app, tenant, webhook, delivery)) {
    await app.store.transact((tx) => hold(tx, tenant, delivery));
    return;
  }
  const attempt = await send(app, webhook, delivery);
  app.metrics.delivery(attempt.status);
  await app.store.transact((tx) => settle(app, tx, tenant, delivery, attempt));
}

/** A disabled webhook receives nothing but pings, and no webhook what its creator may not read now. */
async function maySend(
  app: App,
  tenant: Tenant,
  webhook: WebhookRecord,
  { event_type }: DeliveryRecord,
): Promise<boolean> {
  if (!isWebhookEvent(event_type)) return true;
  return webhook.active && await mayReceive(app, tenant, webhook, event_type);
}

/** The claimed attempt is not made, and none follows by itself. */
async function hold(tx: Tx, tenant: Tenant, { id, attempt }: DeliveryRecord): Promise<void> {
  const delivery = await tx.get(deliveries, tenant, id);
  if (delivery === null || delivery.attempt !== attempt || delivery.status !== "sending") return;
  tx.put(deliveries, tenant, {
    ...delivery,
    status: "pending",
    attempt: attempt - 1,
    sent_at_ms: attempt === 1 ? null : delivery.sent_at_ms,
    due_at_ms: null,
  });
}

async function send(app: App, webhook: WebhookRecord, delivery: DeliveryRecord): Promise<Attempt> {
  const { clock, outbound } = app.ports;
  const startedMs = clock.now();
  const policy = RetryPolicy.parse(webhook.retry_policy);
  const signed = signDelivery({
    body: delivery.body,
    secret: app.sealer.open(webhook.sealed_secret, webhook.id),
    deliveryId: delivery.id,
    timestampMs: startedMs,
    eventType: delivery.event_type,
    eventTimestamp: delivery.event_at,
  });
  const custom = JSON.parse(app.sealer.open(webhook.sealed_headers, webhook.id));
  try {
    const response = await outbound.request({
      method: "POST",
      url: webhook.url,
      headers: mergeCustomHeaders(custom, signed),
      body: delivery.body,
      deadlineMs: policy.timeout_seconds * 1000,
      keepBytes: RESPONSE_BYTES_KEPT,
    });
    const good = response.status >= 200 && response.status < 300;
    return {
      status: good ? "succeeded" : "failed",
      httpStatus: response.status,
      responseBody: response.body,
      error: good ? null : "http",
      tookMs: clock.now() - startedMs,
    };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return {
      status: error.kind === "timeout" ? "timed_out" : "failed",
      httpStatus: null,
      responseBody: "",
      error: error.kind,
      tookMs: clock.now() - startedMs,
    };
  }
}

async function settle(
  app: App,
  tx: Tx,
  tenant: Tenant,
  { id, attempt }: DeliveryRecord,
  outcome: Attempt,
): Promise<void> {
  const delivery = await tx.get(deliveries, tenant, id);
  // The lease ran out and somebody else has it: their outcome counts.
  if (delivery === null || delivery.attempt !== attempt || delivery.status !== "sending") return;
  const webhook = await tx.get(webhooks, tenant, delivery.webhook_id);
  const policy = RetryPolicy.parse(webhook?.retry_policy ?? {});
  const ladder = app.config().webhooks.retry_delays_seconds;
  const delayMs = outcome.status === "succeeded" || webhook === null
    ? null
    : nextDelayMs(policy, attempt, ladder);
  const now = app.ports.clock.now();
  tx.put(deliveries, tenant, {
    ...delivery,
    status: outcome.status,
    http_status: outcome.httpStatus,
    response_time_ms: outcome.tookMs,
    response_body: outcome.responseBody,
    error: outcome.error,
    due_at_ms: delayMs === null ? null : now + delayMs,
  });
  if (delayMs !== null) tx.alarm(delayMs);
  if (webhook === null) return;
  addToTally(tx, tenant, "deliveries", webhook.id);
  const spent = outcome.status !== "succeeded" && delayMs === null;
  if (!spent || !policy.auto_disable || !webhook.active) return;
  tx.put(webhooks, tenant, { ...webhook, active: false });
  emit({ app, actor: RELAY_ACTOR }, tx, tenant, {
    type: "webhook_disabled",
    resource: { type: "webhook", id: webhook.id },
    details: { name: webhook.name, url: webhook.url, attempts: attempt, error: outcome.error },
  });
}
