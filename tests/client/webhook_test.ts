import { deepStrictEqual as deq, rejects, strictEqual as eq } from "node:assert/strict";
import { verifyWebhook } from "../../core/client/client.ts";
import { signDelivery } from "../../core/delivery/delivery.ts";

const NOW_MS = Date.UTC(2026, 0, 31, 12);
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const body = JSON.stringify({
  delivery_id: "dlv_1",
  event_type: "agent_lost",
  payload: { a: "é" },
});

const signed = (secret: string, previousSecret?: string) =>
  signDelivery({
    body,
    secret,
    ...(previousSecret !== undefined && { previousSecret }),
    deliveryId: "dlv_1",
    timestampMs: NOW_MS,
    eventType: "agent_lost",
    eventTimestamp: "2026-01-31T12:00:00.000Z",
  });

const verify = (headers: Record<string, string> | Headers, more: object = {}) =>
  verifyWebhook({ secret: SECRET, headers, body, nowMs: NOW_MS, ...more });
const INVALID = { code: "INVALID_SIGNATURE" };

Deno.test("verifyWebhook: what a relay signs passes, with either secret of a rotation and with any kind", async () => {
  eq((await verify(signed(SECRET))).event_type, "agent_lost");
  deq((await verify(new Headers(signed("whsec_bmV3", SECRET)))).payload, { a: "é" });
  const plain = "my own secret";
  eq((await verify(signed(plain), { secret: plain })).delivery_id, "dlv_1");
  const odd = "whsec_not base64";
  eq((await verify(signed(odd), { secret: odd })).delivery_id, "dlv_1");
});

Deno.test("verifyWebhook: another secret, body, id or time is refused", async () => {
  const headers = signed(SECRET);
  await rejects(verify(headers, { secret: "whsec_bmV3" }), INVALID);
  await rejects(verify(headers, { body: `${body} ` }), INVALID);
  await rejects(verify({ ...headers, "webhook-id": "dlv_2" }), INVALID);
  const later = `${NOW_MS / 1000 + 1}`;
  await rejects(verify({ ...headers, "webhook-timestamp": later }), INVALID);
});

Deno.test("verifyWebhook: a delivery that is replayed after the tolerance is refused", async () => {
  const headers = signed(SECRET);
  await verify(headers, { nowMs: NOW_MS + 300_000 });
  await rejects(verify(headers, { nowMs: NOW_MS + 301_000 }), INVALID);
  await rejects(verify(headers, { nowMs: NOW_MS - 301_000 }), INVALID);
  await verify(headers, { nowMs: NOW_MS + 301_000, toleranceSeconds: 600 });
});

Deno.test("verifyWebhook: missing and malformed headers are refused", async () => {
  const headers = signed(SECRET);
  for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
    const { [name]: _, ...others } = headers;
    await rejects(verify(others), INVALID);
  }
  await rejects(verify({ ...headers, "webhook-timestamp": "soon" }), INVALID);
  for (const signature of ["", "v1,", "v1,?", "v2,AAAA", "v1,AAAA", `v1,${"A".repeat(9999)}`]) {
    await rejects(verify({ ...headers, "webhook-signature": signature }), INVALID);
  }
});
