import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { RecentMap } from "../../../kv/store/recent.ts";
import { STANDARD_SECRET_PREFIX, standardKey } from "../../codec/codec.ts";
import type { Entropy } from "../../ports/ports.ts";

/** An attempt to sign. */
export interface DeliveryToSign {
  /** The exact text that will be sent. */
  readonly body: string;
  readonly secret: string;
  /** The secret before the last change, while its grace period lasts. */
  readonly previousSecret?: string;
  /** The same in all attempts, so that receivers recognize a repetition. */
  readonly deliveryId: string;
  /** When this attempt is made, in milliseconds since the Unix epoch. */
  readonly timestampMs: number;
  readonly eventType: string;
  /** When the event happened, ISO 8601. */
  readonly eventTimestamp: string;
}

/** Secrets whose prepared keys are cached. */
const PREPARED_MAX = 2_000;
/** The block size of SHA-256. */
const BLOCK_BYTES = 64;

/** The length of a generated secret: the minimum of Standard Webhooks. */
const SECRET_BYTES = 24;

/** Generates a secret in the form that libraries of Standard Webhooks accept. */
export const newSecret = (entropy: Entropy): string =>
  STANDARD_SECRET_PREFIX + Buffer.from(entropy.bytes(SECRET_BYTES)).toString("base64");

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
  return `sha256=${prepared(secret).service(body).digest("hex")}`;
}

function standardSignature(secret: string, signed: string): string {
  return `v1,${prepared(secret).standard(signed).digest("base64")}`;
}

type Hmac = (text: string) => Hash;

/** The prepared keys of recent secrets: preparing a key takes longer than signing. */
const preparedKeys = new RecentMap<{ readonly service: Hmac; readonly standard: Hmac }>(
  PREPARED_MAX,
);

function prepared(secret: string): { readonly service: Hmac; readonly standard: Hmac } {
  const known = preparedKeys.get(secret);
  if (known !== undefined) return known;
  const service = hmacWith(secret);
  const key = standardKey(secret);
  const both = { service, standard: key === secret ? service : hmacWith(key) };
  preparedKeys.set(secret, both);
  return both;
}

/** HMAC-SHA256 (RFC 2104) whose two hashes absorb the key once and are copied for each text. */
function hmacWith(secret: Buffer | string): Hmac {
  const given = Buffer.from(secret as string);
  const key = given.length > BLOCK_BYTES ? createHash("sha256").update(given).digest() : given;
  const padded = Buffer.alloc(BLOCK_BYTES);
  key.copy(padded);
  const inner = createHash("sha256").update(padded.map((byte) => byte ^ 0x36));
  const outer = createHash("sha256").update(padded.map((byte) => byte ^ 0x5c));
  return (text) => outer.copy().update(inner.copy().update(text).digest());
}
