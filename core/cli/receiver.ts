import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { after, LATE } from "./program.ts";

/** The largest body; event rows are far smaller. */
const BODY_BYTES_MAX = 256 * 1024;
/** Maximum number of deliveries kept for the caller. */
const KEPT_MAX = 100;
/** Older requests are refused as replays, in seconds. */
const AGE_S_MAX = 300;

/** One webhook as it arrived. */
export interface Delivery {
  readonly type: string;
  readonly body: { readonly payload: Readonly<Record<string, unknown>> };
  /** What is wrong with its signatures; null when both are valid. */
  readonly fault: string | null;
}

/** A web server that receives webhooks and checks their signatures. */
export interface Receiver {
  readonly url: string;
  /** The next delivery of an event type. @throws {Error} after `ms` */
  delivery(type: string, ms: number): Promise<Delivery>;
  stop(): Promise<void>;
}

/** Receives webhooks on a free port of this machine. */
export function startReceiver(secret: string): Receiver {
  const deliveries: Delivery[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const body = Buffer.from(await request.arrayBuffer());
    if (body.length > BODY_BYTES_MAX) return new Response(null, { status: 413 });
    const fault = verifyDelivery(secret, request.headers, body);
    deliveries.push({
      type: request.headers.get("x-service-event") ?? "",
      body: fault === null ? JSON.parse(body.toString()) : { payload: {} },
      fault,
    });
    if (deliveries.length > KEPT_MAX) deliveries.shift();
    arrived.resolve();
    arrived = Promise.withResolvers<void>();
    return new Response(null, { status: fault === null ? 204 : 401 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/hook`,
    async delivery(type, ms) {
      const deadline = after(ms);
      try {
        while (true) {
          const changed = arrived.promise;
          const found = deliveries.find((delivery) => delivery.type === type);
          if (found !== undefined) return found;
          if (await Promise.race([changed, deadline.late]) === LATE) {
            throw new Error(`no webhook ${type} arrived within ${ms / 1000} s`);
          }
        }
      } finally {
        deadline.cancel();
      }
    },
    stop: () => server.shutdown(),
  };
}

/**
 * Checks signatures as docs/webhooks.md describes: over the raw body, in constant time. Returns what is wrong, or null
 * when both Relay's signature and that of Standard Webhooks are valid.
 */
export function verifyDelivery(secret: string, headers: Headers, body: Buffer): string | null {
  const own = createHmac("sha256", secret).update(body).digest("hex");
  if (!equal(headers.get("x-service-signature") ?? "", `sha256=${own}`)) {
    return "X-Service-Signature is wrong";
  }
  const sentAt = headers.get("webhook-timestamp") ?? "";
  const signed = createHmac("sha256", secret)
    .update(`${headers.get("webhook-id")}.${sentAt}.`).update(body).digest("base64");
  const given = (headers.get("webhook-signature") ?? "").split(" ");
  if (!given.some((each) => equal(each, `v1,${signed}`))) return "webhook-signature is wrong";
  const fresh = Math.abs(Date.now() / 1000 - Number(sentAt)) <= AGE_S_MAX;
  return fresh ? null : "webhook-timestamp is not current";
}

function equal(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
