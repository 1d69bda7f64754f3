import type { Tenant } from "../../../kv/store/collection.ts";
import {
  deliveries,
  type DeliveryRecord,
  type WebhookRecord,
  webhooks,
} from "../../../kv/records/webhook.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { OutboundError, type Timing } from "../../ports/ports.ts";
import type { AttemptCounts } from "./attempt_counts.ts";
import { LOST, NOT_ALLOWED } from "./attempt_record.ts";
import { isWebhookEvent } from "../../events/events.ts";
import { disableFailing, type DisableParts } from "./disable.ts";
import type { Claim } from "./leases.ts";
import { type DeliveryQueue, dropDelivery, writeDelivery } from "./ledger.ts";
import { requestOf, type RequestParts } from "./request.ts";
import { fitsLease, scheduleRetry } from "../jobs/job.ts";
import { afterFailure, policyOf, retryAfterMs } from "../jobs/retry_policy.ts";
import { isOrganizationActive, mayReceive } from "./checks.ts";

/** The parts of the relay that an attempt uses. */
export interface AttemptParts
  extends Pick<Context, "store" | "config">, RequestParts, DisableParts {
  readonly ports: Context["ports"];
  readonly queue: DeliveryQueue;
  readonly attempts: AttemptCounts;
  readonly metrics: { delivery(result: Attempt["status"], sinceEventMs: number): void };
  readonly activity: { count(tenant: Tenant, name: string): void };
}

/** How one attempt ended. */
interface Attempt {
  readonly status: "succeeded" | "failed" | "timed_out";
  readonly httpStatus: number | null;
  readonly retryAfterMs: number;
  readonly responseBody: string;
  readonly truncated: boolean;
  readonly error: string | null;
  readonly tookMs: number;
  readonly timing: Timing | null;
}

/** Errors of attempts that got no answer from the receiver. */
const UNANSWERED: readonly (string | null)[] = ["timeout", "connect", "dns", "tls"];
/**
 * Sends a claimed delivery and records the outcome. Returns true when the receiver answered, false when it did
 * not, and null when no attempt was made.
 * @throws {Error} when the delivery is left to the attempt that follows the end of its lease
 */
export async function attemptDelivery(parts: AttemptParts, claim: Claim): Promise<boolean | null> {
  const webhook = await admit(parts, claim);
  if (webhook === null) return null;
  if (!fitsLease(claim.delivery, parts.ports.clock.now())) {
    throw new Error("This process stood still until its lease was nearly over.");
  }
  const attempt = await send(parts, claim.tenant, webhook, claim.delivery);
  const { event_at } = claim.delivery;
  parts.metrics.delivery(attempt.status, parts.ports.clock.now() - Date.parse(event_at));
  parts.activity.count(claim.tenant, `deliveries.${attempt.status}`);
  await change(parts, claim, (tx) => settle(parts, tx, claim, attempt));
  parts.attempts.add(claim.tenant, webhook.id);
  return !UNANSWERED.includes(attempt.error);
}

/** The webhook to send to; null when no attempt is made because the delivery has to wait or has ended. */
async function admit(parts: AttemptParts, claim: Claim): Promise<WebhookRecord | null> {
  const { tenant, before } = claim;
  const webhook = await parts.store.get(webhooks, tenant, before.webhook_id);
  if (webhook !== null && await findObstacle(parts.store, tenant, webhook, before) === null) {
    return webhook;
  }
  return await change(parts, claim, (tx) => turnAway(parts, tx, claim));
}

/** Repeats the decision of `admit` in a transaction, and records why no attempt is made. */
async function turnAway(
  parts: AttemptParts,
  tx: Tx,
  claim: Claim,
): Promise<WebhookRecord | null> {
  const { tenant, before } = claim;
  const webhook = await tx.get(webhooks, tenant, before.webhook_id);
  if (webhook === null) {
    const record = await tx.getStored(deliveries, tenant, before.id);
    if (record !== null) dropDelivery(tx, tenant, record, "discarded");
    return null;
  }
  const obstacle = await findObstacle(parts.store, tenant, webhook, before);
  if (obstacle === null) return webhook;
  const delivery = await leased(tx, claim);
  if (delivery !== null) {
    writeDelivery(parts.queue, tx, tenant, delivery, { ...before, due_at_ms: null, ...obstacle });
  }
  return null;
}

/** Changes the delivery of a claim. The first run takes the record as claimed, without a read; a rerun reads it. */
async function change<R>(
  { signals, store }: AttemptParts,
  { tenant, delivery, versionstamp }: Claim,
  work: (tx: Tx) => Promise<R>,
): Promise<R> {
  let known = true;
  const result = await store.transact((tx) => {
    if (known) tx.seed(deliveries, tenant, delivery, versionstamp);
    known = false;
    return work(tx);
  });
  signals.deliveryAttempted.send({ tenant, webhookId: delivery.webhook_id });
  return result;
}

/** Why a delivery may not be sent now, as changes to its record; null when it may. */
async function findObstacle(
  store: Store,
  tenant: Tenant,
  webhook: WebhookRecord,
  { status, attempt, attempts_before, event_type, test, due_at_ms }: DeliveryRecord,
): Promise<Partial<DeliveryRecord> | null> {
  const lost = status === "sending";
  const spent = lost && attempt - attempts_before >= policyOf(webhook).max_retries;
  if (spent) return { status: "failed", ...LOST };
  if (!await isOrganizationActive(store, tenant)) return { due_at_ms };
  const held = webhook.active ? null : { status: "pending", held: true, ...lost && LOST } as const;
  // A test holds nobody's data, so it needs no right.
  if (test || !isWebhookEvent(event_type)) return held;
  // A user who changed the events of a webhook could read the new types, but perhaps not those of older deliveries.
  const wanted = webhook.events.includes(event_type);
  if (!wanted || !await mayReceive(store, tenant, webhook, event_type)) {
    return { status: "failed", error: NOT_ALLOWED };
  }
  return held;
}

/** The record; null when the lease expired and another attempt took over, whose outcome counts. */
async function leased(tx: Tx, { tenant, delivery }: Claim): Promise<DeliveryRecord | null> {
  const record = await tx.get(deliveries, tenant, delivery.id);
  return record?.leased && record.attempt === delivery.attempt ? record : null;
}

async function send(
  parts: AttemptParts,
  tenant: Tenant,
  webhook: WebhookRecord,
  delivery: DeliveryRecord,
): Promise<Attempt> {
  const { clock, outbound, log } = parts.ports;
  const startedMs = clock.now();
  const span = startSpan(parts, delivery);
  try {
    const request = requestOf(parts, tenant, webhook, delivery, span?.carried);
    const response = await outbound.request(request);
    const good = response.status >= 200 && response.status < 300;
    span?.end({
      "http.response.status_code": response.status,
      ...(!good && { "error.type": `${response.status}` }),
    });
    return {
      status: good ? "succeeded" : "failed",
      httpStatus: response.status,
      retryAfterMs: retryAfterMs(response.status, response.headers["retry-after"], clock.now()),
      responseBody: response.body,
      truncated: response.truncated,
      error: good ? null : "http",
      tookMs: clock.now() - startedMs,
      timing: response.timing,
    };
  } catch (error) {
    const kind = error instanceof OutboundError ? error.kind : "internal";
    span?.end({ "error.type": kind });
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
      timing: error instanceof OutboundError ? error.timing : null,
    };
  }
}

/** A span in the trace of the event; undefined when nothing is traced. */
function startSpan({ ports: { tracing } }: AttemptParts, delivery: DeliveryRecord) {
  if (tracing === null) return undefined;
  const name = "webhook attempt";
  const about = {
    "relay.webhook_id": delivery.webhook_id,
    "relay.delivery_id": delivery.id,
    "relay.attempt": delivery.attempt,
  };
  const trace = tracing.resume(delivery.traceparent);
  return trace === null ? tracing.start(name, about) : trace.child(name, about);
}

async function settle(
  parts: AttemptParts,
  tx: Tx,
  claim: Claim,
  outcome: Attempt,
): Promise<void> {
  const { tenant } = claim;
  const delivery = await leased(tx, claim);
  if (delivery === null) return;
  // Only the receiver's next attempt waits for this commit, so it need not keep its order with fan-out.
  tx.allowReordering();
  const good = outcome.status === "succeeded";
  const webhook = good ? null : await tx.get(webhooks, tenant, delivery.webhook_id);
  const attempts = delivery.attempt - delivery.attempts_before;
  const { delayMs, disable } = webhook === null ? { delayMs: null, disable: false } : afterFailure(
    policyOf(webhook),
    attempts,
    outcome,
    parts.config().webhooks.retry_delays_seconds,
  );
  writeDelivery(parts.queue, tx, tenant, delivery, {
    ...delivery,
    status: outcome.status,
    http_status: outcome.httpStatus,
    response_time_ms: outcome.tookMs,
    timing_ms: outcome.timing,
    response_body: outcome.responseBody,
    response_truncated: outcome.truncated,
    error: outcome.error,
    leased: false,
    due_at_ms: scheduleRetry(tx, parts.ports.clock, delayMs),
  });
  if (webhook === null || !disable || !webhook.active || delivery.test) return;
  await disableFailing(parts, tx, tenant, webhook, { attempts, error: outcome.error });
}
