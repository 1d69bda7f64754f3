import type { Tenant } from "../../../kv/store/collection.ts";
import { type DeliveryRecord, stateOf, type WebhookRecord } from "../../../kv/records/webhook.ts";
import type { Work } from "../../work/work.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { WEBHOOK } from "./standing.ts";
import { showStanding } from "../../access/access.ts";
import { mayReadType } from "./checks.ts";
import { mergeCustomHeaders, visibleHeaders } from "./custom_headers.ts";
import { headersAt } from "./request.ts";
import type { RetryPolicy } from "../jobs/retry_policy.ts";

/** Whoever knows one of these could send the request again. */
const SIGNATURES = ["X-Service-Signature", "X-Service-Signature-Previous", "webhook-signature"];

/** Counts the attempts of webhooks. */
export interface AttemptCounter {
  readonly attempts: {
    of(tenant: Tenant, webhookId: string): Promise<{ n: number; latestMs: number | null }>;
  };
}

/** A webhook as every answer shows it: without its secret, and with header values only for `secrets:read`. */
export async function showWebhook(
  { ports, sealer, db, actor }: Pick<Work, "ports" | "sealer" | "db" | "actor">,
  { attempts: counter }: AttemptCounter,
  webhook: WebhookRecord,
) {
  const attempts = await counter.of(actor.tenant, webhook.id);
  const headers = JSON.parse(sealer.open(webhook.sealed_headers, webhook.id));
  const endsAtMs = webhook.previous_ends_at_ms ?? 0;
  const inGrace = ports.clock.now() < endsAtMs;
  return {
    id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    active: webhook.active,
    events: webhook.events,
    custom_headers: visibleHeaders(actor.rights, headers),
    retry_policy: webhook.retry_policy as RetryPolicy,
    previous_secret_ends_at: inGrace ? iso(endsAtMs) : null,
    release_id: webhook.release_id,
    ...await showStanding(db, actor.tenant, WEBHOOK, webhook),
    created_with: webhook.created_with,
    created_at: iso(webhook.created_at_ms),
    delivery_count: attempts.n,
    last_delivery_at: isoOrNull(attempts.latestMs),
  };
}

/** A delivery as every answer shows it, with its latest attempt. */
export function showDelivery(delivery: DeliveryRecord) {
  const state = stateOf(delivery);
  return {
    id: delivery.id,
    webhook_id: delivery.webhook_id,
    event_id: delivery.event_id,
    event_type: delivery.event_type,
    status: delivery.status,
    held: delivery.held,
    final: state === "exhausted" || state === "discarded",
    test: delivery.test,
    http_status: delivery.http_status,
    response_time_ms: delivery.response_time_ms,
    timing_ms: delivery.timing_ms ?? null,
    attempt: delivery.attempt,
    sent_at: isoOrNull(delivery.sent_at_ms),
    response_body: delivery.response_body,
    response_truncated: delivery.response_truncated,
    error: delivery.error,
    created_at: iso(delivery.created_at_ms),
    next_attempt_at: delivery.status === "failed" || delivery.status === "timed_out"
      ? isoOrNull(delivery.due_at_ms)
      : null,
  };
}

/**
 * The request of a delivery's latest attempt, made again from the webhook as it is now; null for callers who may not
 * read the event that it carries.
 */
export function showRequest(
  work: Pick<Work, "actor" | "sealer">,
  webhook: WebhookRecord,
  delivery: DeliveryRecord,
) {
  const { event_type: type, sent_at_ms: sentMs, test, body } = delivery;
  if (!test && !mayReadType(work.actor.rights, type)) return null;
  const headers = sentMs === null ? null : showHeaders(work, webhook, delivery, sentMs);
  return { url: webhook.url, headers, body };
}

/** The headers of an attempt that began at an instant, made again from the webhook as it is now. */
export function showHeaders(
  { actor: { rights }, sealer }: Pick<Work, "actor" | "sealer">,
  webhook: WebhookRecord,
  delivery: DeliveryRecord,
  startedMs: number,
): Readonly<Record<string, string>> {
  const { signed, custom } = headersAt(sealer, webhook, delivery, startedMs);
  const signatures = Object.entries(signed).filter(([name]) => SIGNATURES.includes(name));
  const visible = { ...signed, ...visibleHeaders(rights, Object.fromEntries(signatures)) };
  return mergeCustomHeaders(visibleHeaders(rights, custom), visible);
}
