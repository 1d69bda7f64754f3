import { Buffer } from "node:buffer";
import assert from "node:assert/strict";

import { makeSealer, SealError, type SealErrorReason } from "../../core/codec/seal.ts";
import { seededBytes } from "../support/seeded.ts";

const entropy = seededBytes(11);
const SECRET = "correct horse battery staple";
const sealer = makeSealer(SECRET, entropy);

function refuses(open: () => unknown, reason: SealErrorReason): void {
  assert.throws(open, (error) => error instanceof SealError && error.reason === reason);
}

Deno.test("seal: any text opens again in its context", () => {
  for (const text of ["", "svc_live_abc", "naïve \ud83d\ude00 \0 text", "x".repeat(40 * 1024)]) {
    assert.equal(sealer.open(sealer.seal(text, "key_1"), "key_1"), text);
  }
  assert.equal(sealer.open(sealer.seal("no context", ""), ""), "no context");
});

Deno.test("seal: has its documented form and never repeats itself", () => {
  const one = sealer.seal("same", "same");
  assert.match(one, /^v1\.[A-Za-z0-9_-]{8}\.[A-Za-z0-9_-]+$/);
  assert.notEqual(one, sealer.seal("same", "same"));
});

Deno.test("seal: a text sealed by an earlier version still opens", () => {
  const sealed = "v1.ovNrqitY.AAECAwQFBgcICQoL6xCVtUQThXzcBymZSx1M4GcWNRFdFwCZt3OnXw";
  assert.equal(sealer.open(sealed, "key_1"), "svc_live_abc");
});

Deno.test("open: another context is refused", () => {
  const sealed = sealer.seal("secret", "key_1");
  for (const context of ["", "key_2", "key_1 ", "KEY_1"]) {
    refuses(() => sealer.open(sealed, context), "altered");
  }
});

Deno.test("open: one changed bit anywhere in IV, ciphertext or tag is refused", () => {
  const [version, id, body = ""] = sealer.seal("secret", "key_1").split(".");
  const bytes = Uint8Array.fromBase64(body, { alphabet: "base64url" });
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = bytes.slice();
    changed[bit >> 3]! ^= 1 << (bit & 7);
    const encoded = changed.toBase64({ alphabet: "base64url", omitPadding: true });
    refuses(() => sealer.open(`${version}.${id}.${encoded}`, "key_1"), "altered");
  }
});

Deno.test("open: one changed character anywhere is refused", () => {
  const sealed = sealer.seal("secret", "key_1");
  for (let at = 0; at < sealed.length; at++) {
    for (const other of "AB-_.") {
      const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
      if (changed !== sealed) assert.throws(() => sealer.open(changed, "key_1"), SealError);
    }
  }
});

Deno.test("open: cut texts and unsealed texts are refused", () => {
  const sealed = sealer.seal("secret", "key_1");
  for (let length = 0; length < sealed.length; length++) {
    assert.throws(() => sealer.open(sealed.slice(0, length), "key_1"), SealError);
  }
  const id = sealed.slice(3, 11);
  const others = ["", "v1..", "secret", sealed.slice(0, 40), sealed.replace("v1", "v2")];
  others.push(`v1.${id}.`, `v1.${id}.AAAA`, `${sealed}=`, `${sealed}\n`, `v1.${id}.****`);
  for (const text of others) refuses(() => sealer.open(text, "key_1"), "malformed");
});

Deno.test("open: a text of another secret is refused with that reason", () => {
  const other = makeSealer("another secret altogether", entropy);
  refuses(() => sealer.open(other.seal("secret", "key_1"), "key_1"), "unknown_key");
});

Deno.test("makeSealer: after a rotation the old texts open, and new ones need the new secret", () => {
  const newer = makeSealer("the secret of this year", entropy, [SECRET, "the one before that"]);
  assert.equal(newer.open(sealer.seal("old", "key_1"), "key_1"), "old");
  const sealed = newer.seal("new", "key_1");
  assert.equal(makeSealer("the secret of this year", entropy).open(sealed, "key_1"), "new");
  refuses(() => sealer.open(sealed, "key_1"), "unknown_key");
});

Deno.test("fingerprint: identifies its secret", () => {
  assert.equal(makeSealer(SECRET, seededBytes(99)).fingerprint(), sealer.fingerprint());
  assert.notEqual(makeSealer(`${SECRET}.`, entropy).fingerprint(), sealer.fingerprint());
  assert.equal(sealer.fingerprint().length, 43);
});

Deno.test("mac: depends on the secret and the text, and differs from every stored value", () => {
  const entropy = { bytes: (n: number) => new Uint8Array(n) };
  const hex = (secret: string, text: string) =>
    Buffer.from(makeSealer(secret, entropy).mac(text)).toString("hex");
  const [one, two] = ["a secret of many characters", "another secret of many"];
  assert.equal(hex(one, "a"), hex(one, "a"));
  assert.equal(new Set([hex(one, "a"), hex(one, "b"), hex(two, "a")]).size, 3);
  const fingerprint = makeSealer(one, entropy).fingerprint();
  assert.notEqual(Buffer.from(hex(one, "fingerprint"), "hex").toString("base64url"), fingerprint);
});

Deno.test("recognizes: knows the newest and the older secrets, and no other", () => {
  const newer = makeSealer("the secret of this year", entropy, [SECRET]);
  assert.equal(newer.recognizes(newer.fingerprint()), true);
  assert.equal(newer.recognizes(sealer.fingerprint()), true);
  assert.equal(sealer.recognizes(newer.fingerprint()), false);
  assert.equal(sealer.recognizes(""), false);
});

Deno.test("makeSealer: a short secret is refused with advice and without repeating it", () => {
  for (const secret of ["", "hunter2hunter2!", `${" ".repeat(20)}short`]) {
    for (
      const make of [() => makeSealer(secret, entropy), () => makeSealer(SECRET, entropy, [secret])]
    ) {
      assert.throws(
        make,
        (error) =>
          error instanceof Error && error.message.includes("openssl rand -base64 32") &&
          !error.message.includes("hunter2"),
      );
    }
  }
  makeSealer("exactly16letters", entropy);
});

Deno.test("seal: a text over 40 KiB is refused, since it would not fit the store", () => {
  assert.throws(() => sealer.seal("x".repeat(40 * 1024 + 1), "key_1"), RangeError);
});
