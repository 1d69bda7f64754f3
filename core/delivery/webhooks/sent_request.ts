import type { DeliveryRecord, WebhookRecord } from "../../../kv/records/webhook.ts";
import { MASK } from "../../codec/codec.ts";
import type { Work } from "../../work/work.ts";
import { mayReadType } from "./checks.ts";
import { mergeCustomHeaders, visibleHeaders } from "./custom_headers.ts";
import { headersAt } from "./request.ts";

/** Whoever knows one of these could send the request again. */
const SIGNATURES = ["X-Service-Signature", "X-Service-Signature-Previous", "webhook-signature"];

/**
 * The request of a delivery's latest attempt, made again from the webhook as it is now; null for callers who may not
 * read the event that it carries.
 */
export function showRequest(
  { actor: { rights }, sealer }: Work,
  webhook: WebhookRecord,
  delivery: DeliveryRecord,
) {
  const { event_type: type, sent_at_ms: sentMs, test, body } = delivery;
  if (!test && !mayReadType(rights, type)) return null;
  if (sentMs === null) return { url: webhook.url, headers: null, body };
  const { signed, custom } = headersAt(sealer, webhook, delivery, sentMs);
  const masked = rights.has("secrets:read") ? signed : Object.fromEntries(
    Object.entries(signed).map(([name, value]) => [name, SIGNATURES.includes(name) ? MASK : value]),
  );
  return {
    url: webhook.url,
    headers: mergeCustomHeaders(visibleHeaders(rights, custom), masked),
    body,
  };
}
