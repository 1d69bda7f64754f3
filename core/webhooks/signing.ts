import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";

/** One attempt of one delivery. */
export interface DeliveryToSign {
  /** The bytes that will be sent, unchanged. */
  readonly body: string;
  readonly secret: string;
  /** The secret before the last change, while its grace period lasts. */
  readonly previousSecret?: string;
  /** The same in all attempts, so that receivers can tell a repetition. */
  readonly deliveryId: string;
  /** When this attempt is made, in milliseconds since the Unix epoch. */
  readonly timestampMs: number;
  readonly eventType: string;
  /** When the event happened, ISO 8601. */
  readonly eventTimestamp: string;
}

/** Marks a secret whose rest is base64, as Standard Webhooks writes them. */
const STANDARD_SECRET_PREFIX = "whsec_";

/** Whole groups of four, as strict decoders want them. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{4})$/;

/** The headers of one attempt: Relay's own five and the three of Standard Webhooks 1.0. */
export function signDelivery(delivery: DeliveryToSign): Record<string, string> {
  const { body, secret, previousSecret, deliveryId } = delivery;
  const unixSeconds = String(Math.floor(delivery.timestampMs / 1000));
  const signed = `${deliveryId}.${unixSeconds}.${body}`;
  const secrets = previousSecret === undefined ? [secret] : [secret, previousSecret];
  const headers: Record<string, string> = {
    "Content-Type": "application/json",
    "X-Service-Event": delivery.eventType,
    "X-Service-Signature": serviceSignature(secret, body),
    "X-Service-Delivery": deliveryId,
    "X-Service-Timestamp": delivery.eventTimestamp,
    "webhook-id": deliveryId,
    "webhook-timestamp": unixSeconds,
    "webhook-signature": secrets.map((each) => standardSignature(each, signed)).join(" "),
  };
  if (previousSecret !== undefined) {
    headers["X-Service-Signature-Previous"] = serviceSignature(previousSecret, body);
  }
  return headers;
}

function serviceSignature(secret: string, body: string): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

function standardSignature(secret: string, signed: string): string {
  return `v1,${createHmac("sha256", standardKey(secret)).update(signed).digest("base64")}`;
}

/** Libraries of Standard Webhooks decode a `whsec_` secret; any other is its own bytes. */
function standardKey(secret: string): Buffer | string {
  if (!secret.startsWith(STANDARD_SECRET_PREFIX)) return secret;
  const encoded = secret.slice(STANDARD_SECRET_PREFIX.length);
  return BASE64.test(encoded) ? Buffer.from(encoded, "base64") : secret;
}
