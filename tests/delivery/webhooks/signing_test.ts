import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";

import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";

import { type DeliveryToSign, signDelivery } from "../../../core/delivery/webhooks/signing.ts";

const STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

function delivery(more: Partial<DeliveryToSign> = {}): DeliveryToSign {
  return {
    body: '{"event_id":"1","payload":{"command":"rm -rf /","name":"Zoë 🚀"}}',
    secret: "correct horse battery staple",
    deliveryId: "dlq_0m3x1",
    timestampMs: 1_614_265_330_999,
    eventType: "command_denied",
    eventTimestamp: "2021-02-25T15:02:10.000Z",
    ...more,
  };
}

Deno.test("signDelivery: gives the five headers of the interface and the three of Standard Webhooks", () => {
  assert.deepEqual(signDelivery(delivery({ body: "{}", secret: "s" })), {
    "Content-Type": "application/json",
    "X-Service-Event": "command_denied",
    "X-Service-Signature": "sha256=" + createHmac("sha256", "s").update("{}").digest("hex"),
    "X-Service-Delivery": "dlq_0m3x1",
    "X-Service-Timestamp": "2021-02-25T15:02:10.000Z",
    "webhook-id": "dlq_0m3x1",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1," +
      createHmac("sha256", "s").update("dlq_0m3x1.1614265330.{}").digest("base64"),
  });
});

Deno.test("signDelivery: the HMAC is that of RFC 4231, test case 2", () => {
  const headers = signDelivery(delivery({ secret: "Jefe", body: "what do ya want for nothing?" }));
  assert.equal(
    headers["X-Service-Signature"],
    "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  );
});

Deno.test("signDelivery: gives the published vector of Standard Webhooks", () => {
  const headers = signDelivery(delivery({
    secret: STANDARD_SECRET,
    deliveryId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestampMs: 1_614_265_330_000,
    body: '{"test": 2432232314}',
  }));
  assert.equal(headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

Deno.test("signDelivery: in the grace period both secrets have signed, the current one first", () => {
  const now = signDelivery(delivery({ secret: "new", previousSecret: "old" }));
  const before = signDelivery(delivery({ secret: "old" }));
  const after = signDelivery(delivery({ secret: "new" }));
  assert.equal(now["X-Service-Signature"], after["X-Service-Signature"]);
  assert.equal(now["X-Service-Signature-Previous"], before["X-Service-Signature"]);
  assert.equal(
    now["webhook-signature"],
    `${after["webhook-signature"]} ${before["webhook-signature"]}`,
  );
  assert.equal("X-Service-Signature-Previous" in after, false);
});

Deno.test("signDelivery: an attempt changes only the time of the attempt and its signature", () => {
  const first = signDelivery(delivery());
  const second = signDelivery(delivery({ timestampMs: 1_614_265_361_000 }));
  const changed = Object.keys(first).filter((name) => first[name] !== second[name]);
  assert.deepEqual(changed, ["webhook-timestamp", "webhook-signature"]);
});

/** Secrets of every kind that a webhook may have; the libraries take `raw` ones as bytes. */
const SECRETS = [
  { secret: STANDARD_SECRET, raw: false },
  { secret: `whsec_${randomBytes(32).toString("base64")}`, raw: false },
  { secret: `whsec_${randomBytes(24).toString("base64")}`, raw: false },
  { secret: "a plain secret", raw: true },
  { secret: "ein Geheimnis mit Ümlaut", raw: true },
  { secret: "whsec_not base64!", raw: true },
  { secret: "whsec_abcde", raw: true },
  { secret: "whsec_", raw: true },
] as const;

// Both libraries compare the timestamp with the system's clock, so here the attempt is made now.
for (
  const [name, Library] of Object.entries({ standardwebhooks: StandardWebhook, svix: SvixWebhook })
) {
  Deno.test(`signDelivery: ${name} verifies every kind of secret, and refuses what was altered`, () => {
    for (const { secret, raw } of SECRETS) {
      const attempt = delivery({ secret, timestampMs: Date.now() });
      const headers = signDelivery(attempt);
      const webhook = raw
        ? new Library(new TextEncoder().encode(secret), { format: "raw" })
        : new Library(secret);
      assert.doesNotThrow(() => webhook.verify(attempt.body, headers), secret);
      assert.throws(() => webhook.verify(`${attempt.body} `, headers), secret);
      assert.throws(() => webhook.verify(attempt.body, { ...headers, "webhook-id": "x" }), secret);
    }
  });

  Deno.test(`signDelivery: ${name} verifies with the old and with the new secret in the grace period`, () => {
    const old = `whsec_${randomBytes(32).toString("base64")}`;
    const attempt = delivery({
      secret: STANDARD_SECRET,
      previousSecret: old,
      timestampMs: Date.now(),
    });
    for (const secret of [STANDARD_SECRET, old]) {
      assert.doesNotThrow(() => new Library(secret).verify(attempt.body, signDelivery(attempt)));
    }
    const other = `whsec_${randomBytes(32).toString("base64")}`;
    assert.throws(() => new Library(other).verify(attempt.body, signDelivery(attempt)));
  });
}
