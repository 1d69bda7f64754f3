import type { Tenant } from "../../../kv/store/collection.ts";
import type { DeliveryRecord, WebhookRecord } from "../../../kv/records/webhook.ts";
import type { Context } from "../../context/context.ts";
import type { OutboundRequest } from "../../ports/ports.ts";
import { type CustomHeaders, mergeCustomHeaders } from "./custom_headers.ts";
import { policyOf } from "../jobs/retry_policy.ts";
import { signDelivery } from "./signing.ts";

const RESPONSE_BYTES_KEPT = 4 * 1024;

/** The parts of the relay from which a request is made. */
export interface RequestParts extends Pick<Context, "sealer" | "ports"> {
  /** The header that lets receivers witness the newest checkpoint of the audit log. */
  readonly audit: { witnessHeader(tenant: Tenant): Readonly<Record<string, string>> };
}

/** The request of an attempt, signed now; `trace` is the header that continues its trace. @throws {SealError} when the webhook's secrets do not open */
export function requestOf(
  { sealer, ports: { clock }, audit }: RequestParts,
  tenant: Tenant,
  webhook: WebhookRecord,
  delivery: DeliveryRecord,
  trace: Readonly<Record<string, string>> = {},
): OutboundRequest {
  const { signed, custom } = headersAt(sealer, webhook, delivery, clock.now());
  return {
    organization: tenant.org,
    method: "POST",
    url: webhook.url,
    headers: mergeCustomHeaders(custom, { ...signed, ...audit.witnessHeader(tenant), ...trace }),
    body: delivery.body,
    repeatable: true, // receivers recognize a repetition by the id
    deadlineMs: policyOf(webhook).timeout_seconds * 1000,
    keepBytes: RESPONSE_BYTES_KEPT,
  };
}

/** The headers that Relay sets and signs for an attempt at an instant, and those of the webhook's owner. */
export function headersAt(
  sealer: RequestParts["sealer"],
  webhook: WebhookRecord,
  delivery: DeliveryRecord,
  atMs: number,
): { readonly signed: Readonly<Record<string, string>>; readonly custom: CustomHeaders } {
  const { secret, custom } = opened(sealer, webhook);
  const { sealed_previous_secret: previous, previous_ends_at_ms: endsAtMs } = webhook;
  const inGrace = previous !== null && atMs < (endsAtMs ?? 0);
  const signed = signDelivery({
    body: delivery.body,
    secret,
    ...(inGrace && { previousSecret: sealer.open(previous, webhook.id) }),
    deliveryId: delivery.id,
    timestampMs: atMs,
    eventType: delivery.event_type,
    eventTimestamp: delivery.event_at,
  });
  return { signed, custom };
}

/** The opened secret and headers of webhooks, for as long as the store's cache holds their records. */
const openedOf = new WeakMap<WebhookRecord, Opened>();

interface Opened {
  readonly secret: string;
  readonly custom: CustomHeaders;
}

/** @throws {SealError} when they do not open */
function opened(sealer: RequestParts["sealer"], webhook: WebhookRecord): Opened {
  const known = openedOf.get(webhook);
  if (known !== undefined) return known;
  const secret = sealer.open(webhook.sealed_secret, webhook.id);
  const custom = JSON.parse(sealer.open(webhook.sealed_headers, webhook.id)) as CustomHeaders;
  openedOf.set(webhook, { secret, custom });
  return { secret, custom };
}
