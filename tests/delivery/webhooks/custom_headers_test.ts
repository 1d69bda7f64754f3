import assert from "node:assert/strict";

import {
  checkCustomHeaders,
  mergeCustomHeaders,
} from "../../../core/delivery/webhooks/custom_headers.ts";

const SIGNED = { "X-Service-Signature": "sha256=true", "webhook-id": "dlv_1" };

const RESERVED = [
  "Host",
  "connection",
  "Keep-Alive",
  "Proxy-Connection",
  "Proxy-Authorization",
  "TE",
  "Trailer",
  "Transfer-Encoding",
  "Upgrade",
  "Expect",
  "Content-Length",
  "Content-Type",
  "content-encoding",
  "Accept-Encoding",
  "X-Service-Signature",
  "x-service-signature-previous",
  "X-SERVICE-DELIVERY",
  "Webhook-Id",
  "webhook-timestamp",
  "WEBHOOK-SIGNATURE",
  "svix-signature",
];

const MALFORMED: Readonly<Record<string, string>> = {
  "": "a",
  "a b": "a",
  "a:": "a",
  "a\r\nb": "a",
  "ü": "a",
  "X-Break": "a\r\nHost: b",
  "X-Feed": "a\nb",
  "X-Return": "a\rb",
  "X-Null": "a\0b",
  "X-Wide": "snow ☃",
};

Deno.test("checkCustomHeaders: accepts ordinary headers", () => {
  const sound = { Authorization: "Bearer abc.def", "X-Tenant": "a\tb", "User-Agent": "mine" };
  assert.deepEqual(checkCustomHeaders(sound), []);
  assert.deepEqual(checkCustomHeaders({}), []);
});

Deno.test("checkCustomHeaders: names each reserved header in any case", () => {
  for (const name of RESERVED) {
    assert.deepEqual(checkCustomHeaders({ "X-Fine": "1", [name]: "1" }), [
      `headers.${name}: is set by Relay and cannot be replaced`,
    ]);
  }
});

Deno.test("checkCustomHeaders: refuses names and values that do not form one header", () => {
  for (const [name, value] of Object.entries(MALFORMED)) {
    assert.equal(checkCustomHeaders({ [name]: value }).length, 1, JSON.stringify([name, value]));
  }
});

Deno.test("checkCustomHeaders: a header given in two spellings is refused once", () => {
  assert.deepEqual(checkCustomHeaders({ "X-A": "1", "x-a": "2" }), ["headers.x-a: is given twice"]);
});

Deno.test("checkCustomHeaders: limits the number of headers, the length of names and the total size", () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "1"]));
  assert.deepEqual(checkCustomHeaders(many(20)), []);
  assert.match(checkCustomHeaders(many(21))[0] ?? "", /^headers: holds 21 headers/);
  assert.deepEqual(checkCustomHeaders({ ["x".repeat(128)]: "1" }), []);
  assert.equal(checkCustomHeaders({ ["x".repeat(129)]: "1" }).length, 1);
  assert.deepEqual(checkCustomHeaders({ x: "a".repeat(4095) }), []);
  assert.match(checkCustomHeaders({ x: "a".repeat(4096) })[0] ?? "", /^headers: holds 4097 char/);
});

Deno.test("mergeCustomHeaders: adds valid headers, and never replaces a signed or reserved one", () => {
  const custom = {
    "X-Tenant": "7",
    ...Object.fromEntries(RESERVED.map((name) => [name, "forged"])),
    ...MALFORMED,
  };
  assert.deepEqual(mergeCustomHeaders(custom, SIGNED), { "X-Tenant": "7", ...SIGNED });
});

Deno.test("mergeCustomHeaders: drops a custom header with the name of a signed one, in any case", () => {
  const signed = { ...SIGNED, "X-Other": "ours" };
  assert.deepEqual(mergeCustomHeaders({ "x-OTHER": "forged" }, signed), signed);
});
