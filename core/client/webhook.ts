import { RelayError } from "./error.ts";
import { PLATFORM } from "./platform.ts";

/** A delivery as it arrived. */
export interface ReceivedWebhook {
  /** The webhook's secret, such as `whsec_…`. */
  readonly secret: string;
  readonly headers: Headers | Readonly<Record<string, string | undefined>>;
  /** The exact text of the body. */
  readonly body: string;
  /** How old or early the delivery may be, in seconds. */
  readonly toleranceSeconds?: number;
  /** The receiver's time, in milliseconds since the Unix epoch. */
  readonly nowMs?: number;
}

/** What every delivery holds. */
export interface WebhookDelivery {
  readonly delivery_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly timestamp: string;
  readonly organization_id: string;
  readonly agent_id?: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

const TOLERANCE_SECONDS = 300;
/** A delivery has at most two: by the current secret and the one before. */
const SIGNATURES_MAX = 10;
const SECRET_PREFIX = "whsec_";

/**
 * Verifies a delivery by its Standard Webhooks signature, in constant time, and returns its parsed body.
 * Deduplicate by `delivery_id`: a delivery may arrive more than once.
 * @throws {RelayError} INVALID_SIGNATURE
 */
export async function verifyWebhook(received: ReceivedWebhook): Promise<WebhookDelivery> {
  const { secret, body, toleranceSeconds = TOLERANCE_SECONDS } = received;
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => {
    const value = headerOf(received.headers, `webhook-${name}`);
    if (value === null) throw invalid(`The header webhook-${name} is missing.`);
    return value;
  }) as [string, string, string];
  const nowSeconds = (received.nowMs ?? PLATFORM.now()) / 1000;
  if (!/^\d{1,12}$/.test(timestamp)) throw invalid("The header webhook-timestamp is no time.");
  if (Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds) {
    throw invalid("The delivery is too old or too early. Check the clocks of both machines.");
  }
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", keyOf(secret), algorithm, false, ["verify"]);
  for (const each of signatures.split(" ").slice(0, SIGNATURES_MAX)) {
    const [version, encoded = ""] = each.split(",");
    const signature = version === "v1" ? bytesOf(encoded) : null;
    if (signature === null) continue;
    if (await crypto.subtle.verify("HMAC", key, signature, signed)) return JSON.parse(body);
  }
  throw invalid("No signature matches the secret and the body. Verify the text as it arrived.");
}

/** The HMAC key: a `whsec_` secret holds it in base64, any other is the key itself. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const decoded = secret.startsWith(SECRET_PREFIX)
    ? bytesOf(secret.slice(SECRET_PREFIX.length))
    : null;
  return decoded ?? new TextEncoder().encode(secret);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return null;
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function headerOf(headers: ReceivedWebhook["headers"], name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  return Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1] ?? null;
}

const invalid = (message: string): RelayError =>
  new RelayError(message, { status: 0, code: "INVALID_SIGNATURE", path: "" });
