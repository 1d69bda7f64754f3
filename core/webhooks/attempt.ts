import type { Tenant } from "../../kv/store/collection.ts";
import {
  attemptId,
  type AttemptRecord,
  deliveries,
  type DeliveryRecord,
  DISCARDED,
  type WebhookRecord,
  webhooks,
} from "../../kv/records/webhook.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { App } from "../work/work.ts";
import { OutboundError } from "../ports/ports.ts";
import type { Claim } from "./claim.ts";
import { isWebhookEvent } from "../events/types/webhook_events.ts";
import { disableFailing } from "./disable.ts";
import { dropDelivery, writeDelivery } from "./ledger.ts";
import { requestOf } from "./request.ts";
import { afterFailure, policyOf, retryAfterMs } from "./retry_policy.ts";
import { isOn, mayReceive } from "./checks.ts";

/** How one attempt ended. */
interface Attempt {
  readonly status: "succeeded" | "failed" | "timed_out";
  readonly httpStatus: number | null;
  readonly retryAfterMs: number;
  readonly responseBody: string;
  readonly truncated: boolean;
  readonly error: string | null;
  readonly tookMs: number;
}

/** Ways to fail without a word from the receiver. */
const UNANSWERED: readonly (string | null)[] = ["timeout", "connect", "dns", "tls"];
/** Ways to end between attempts, which say nothing of the one before. */
const NOT_ALLOWED = "not_allowed";
const BETWEEN: readonly (string | null)[] = [NOT_ALLOWED, DISCARDED];
/** What is known of an attempt whose process died in it: nothing, also not whether it arrived. */
const LOST = {
  http_status: null,
  response_time_ms: null,
  response_body: "",
  response_truncated: false,
  error: "lost",
} as const;

/**
 * Sends a claimed delivery and records how it went. Answers whether the receiver said anything at all, or
 * null when no attempt was made.
 */
export async function attemptDelivery(app: App, claim: Claim): Promise<boolean | null> {
  const webhook = await admit(app, claim);
  if (webhook === null) return null;
  const attempt = await send(app, claim.tenant, webhook, claim.delivery);
  app.metrics.delivery(attempt.status);
  app.activity.count(claim.tenant, `deliveries.${attempt.status}`);
  await change(app, claim, (tx) => settle(app, tx, claim, attempt));
  app.deliveries.attempts.add(claim.tenant, webhook.id);
  return !UNANSWERED.includes(attempt.error);
}

/** The latest attempt of a record, to be kept beside it; null when it had none, or that is kept already. */
export function attemptOf(delivery: DeliveryRecord): AttemptRecord | null {
  const { id, attempt, error, expires_at_ms } = delivery;
  if (attempt === 0 || BETWEEN.includes(error)) return null;
  const common = { id: attemptId(id, attempt), started_at_ms: delivery.sent_at_ms, expires_at_ms };
  if (delivery.status === "sending") return { ...common, status: "failed", ...LOST };
  return {
    ...common,
    status: error === null ? "succeeded" : error === "timeout" ? "timed_out" : "failed",
    http_status: delivery.http_status,
    response_time_ms: delivery.response_time_ms,
    response_body: delivery.response_body,
    response_truncated: delivery.response_truncated,
    error,
  };
}

/** The webhook to send to, or null when no attempt is made: the delivery then waits or is over. */
async function admit(app: App, claim: Claim): Promise<WebhookRecord | null> {
  const { tenant, before } = claim;
  const webhook = await app.store.get(webhooks, tenant, before.webhook_id);
  if (webhook !== null && await findObstacle(app, tenant, webhook, before) === null) return webhook;
  return await change(app, claim, (tx) => turnAway(app, tx, claim));
}

/** The same, decided in the transaction that writes down why no attempt is made. */
async function turnAway(app: App, tx: Tx, claim: Claim): Promise<WebhookRecord | null> {
  const { tenant, before } = claim;
  const webhook = await tx.get(webhooks, tenant, before.webhook_id);
  if (webhook === null) {
    const record = await tx.getStored(deliveries, tenant, before.id);
    if (record !== null) dropDelivery(tx, tenant, record, "discarded");
    return null;
  }
  const obstacle = await findObstacle(app, tenant, webhook, before);
  if (obstacle === null) return webhook;
  const delivery = await leased(tx, claim);
  if (delivery !== null) {
    writeDelivery(app, tx, tenant, delivery, { ...before, due_at_ms: null, ...obstacle });
  }
  return null;
}

/** Changes the delivery of a claim: at first as it was written, and when that is not true any more as it is. */
async function change<R>(
  { store }: App,
  { tenant, delivery, versionstamp }: Claim,
  work: (tx: Tx) => Promise<R>,
): Promise<R> {
  let known = true;
  return await store.transact((tx) => {
    if (known) tx.know(deliveries, tenant, delivery, versionstamp);
    known = false;
    return work(tx);
  });
}

/** Why a delivery is not sent, as what its record then says. */
async function findObstacle(
  app: App,
  tenant: Tenant,
  webhook: WebhookRecord,
  { status, attempt, attempts_before, event_type, test, due_at_ms }: DeliveryRecord,
): Promise<Partial<DeliveryRecord> | null> {
  const lost = status === "sending";
  const spent = lost && attempt - attempts_before >= policyOf(webhook).max_retries;
  if (spent) return { status: "failed", ...LOST };
  if (!await isOn(app, tenant)) return { due_at_ms };
  const held = webhook.active ? null : { status: "pending", held: true, ...lost && LOST } as const;
  // A test is of nobody's data, so it needs no right.
  if (test || !isWebhookEvent(event_type)) return held;
  // Whoever steers a webhook may read what it subscribes to now, and perhaps not what it once did.
  const wanted = webhook.events.includes(event_type);
  if (!wanted || !await mayReceive(app, tenant, webhook, event_type)) {
    return { status: "failed", error: NOT_ALLOWED };
  }
  return held;
}

/** The record, unless the lease ran out and somebody else has it: then their outcome counts. */
async function leased(tx: Tx, { tenant, delivery }: Claim): Promise<DeliveryRecord | null> {
  const record = await tx.get(deliveries, tenant, delivery.id);
  return record?.leased && record.attempt === delivery.attempt ? record : null;
}

async function send(
  app: App,
  tenant: Tenant,
  webhook: WebhookRecord,
  delivery: DeliveryRecord,
): Promise<Attempt> {
  const { clock, outbound, log } = app.ports;
  const startedMs = clock.now();
  try {
    const response = await outbound.request(requestOf(app, tenant, webhook, delivery));
    const good = response.status >= 200 && response.status < 300;
    return {
      status: good ? "succeeded" : "failed",
      httpStatus: response.status,
      retryAfterMs: retryAfterMs(response.status, response.headers["retry-after"], clock.now()),
      responseBody: response.body,
      truncated: response.truncated,
      error: good ? null : "http",
      tookMs: clock.now() - startedMs,
    };
  } catch (error) {
    const kind = error instanceof OutboundError ? error.kind : "internal";
    if (kind === "internal") {
      log.error("a delivery could not be sent", { delivery: delivery.id, error: String(error) });
    }
    return {
      status: kind === "timeout" ? "timed_out" : "failed",
      httpStatus: null,
      retryAfterMs: 0,
      responseBody: "",
      truncated: false,
      error: kind,
      tookMs: clock.now() - startedMs,
    };
  }
}

async function settle(app: App, tx: Tx, claim: Claim, outcome: Attempt): Promise<void> {
  const { tenant } = claim;
  const delivery = await leased(tx, claim);
  if (delivery === null) return;
  // Nobody waits for it but its receiver's next one, so it need not wait for what fan-out writes.
  tx.standApart();
  const good = outcome.status === "succeeded";
  const webhook = good ? null : await tx.get(webhooks, tenant, delivery.webhook_id);
  const attempts = delivery.attempt - delivery.attempts_before;
  const { delayMs, disable } = webhook === null ? { delayMs: null, disable: false } : afterFailure(
    policyOf(webhook),
    attempts,
    outcome,
    app.config().webhooks.retry_delays_seconds,
  );
  writeDelivery(app, tx, tenant, delivery, {
    ...delivery,
    status: outcome.status,
    http_status: outcome.httpStatus,
    response_time_ms: outcome.tookMs,
    response_body: outcome.responseBody,
    response_truncated: outcome.truncated,
    error: outcome.error,
    leased: false,
    due_at_ms: delayMs === null ? null : app.ports.clock.now() + delayMs,
  });
  if (delayMs !== null) tx.alarm(delayMs);
  if (webhook === null || !disable || !webhook.active || delivery.test) return;
  await disableFailing(app, tx, tenant, webhook, { attempts, error: outcome.error });
}
