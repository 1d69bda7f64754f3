import assert from "node:assert/strict";

import {
  hashKeyValue,
  makeKeyValue,
  makeSecretText,
  maskKeyValue,
  parseKeyValue,
} from "../../../core/access/keys/value.ts";
import { random } from "../../support/random.ts";
import { seededBytes } from "../../support/seeded.ts";

const SEED = 7;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

Deno.test("makeKeyValue: has the prefix of its type, 43 random characters and 6 of checksum", () => {
  const entropy = seededBytes(SEED);
  assert.match(makeKeyValue("live", entropy), /^svc_live_[0-9A-Za-z]{49}$/);
  assert.match(makeKeyValue("test", entropy), /^svc_test_[0-9A-Za-z]{49}$/);
});

Deno.test("makeKeyValue: the format stays the same, since issued keys must keep working", () => {
  const bytes = () => Uint8Array.from({ length: 32 }, (_, at) => at);
  assert.equal(
    makeKeyValue("live", { bytes }),
    "svc_live_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1cF9PE",
  );
});

Deno.test("parseKeyValue: tells the type of every key that was made", () => {
  const entropy = seededBytes(SEED);
  for (let round = 0; round < 200; round++) {
    assert.deepEqual(parseKeyValue(makeKeyValue("live", entropy)), { type: "live" });
    assert.deepEqual(parseKeyValue(makeKeyValue("test", entropy)), { type: "test" });
  }
});

Deno.test("parseKeyValue: a changed character or two swapped neighbours are always found", () => {
  const key = makeKeyValue("live", seededBytes(SEED));
  for (let at = 9; at < key.length; at++) {
    for (const digit of DIGITS) {
      const typo = key.slice(0, at) + digit + key.slice(at + 1);
      assert.equal(parseKeyValue(typo) !== null, typo === key, typo);
    }
    const swapped = key.slice(0, at - 1) + key[at] + key[at - 1] + key.slice(at + 1);
    assert.equal(parseKeyValue(swapped) !== null, swapped === key, swapped);
  }
});

Deno.test("parseKeyValue: the checksum covers the prefix, so a test key does not pass as a live key", () => {
  const key = makeKeyValue("test", seededBytes(SEED));
  assert.equal(parseKeyValue(key.replace("test", "live")), null);
});

Deno.test("parseKeyValue: anything else is null", () => {
  const key = makeKeyValue("live", seededBytes(SEED));
  const others = [
    "",
    "svc_live_",
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`.slice(0, key.length),
    `${key.slice(0, -1)}\n`,
    key.replace("svc_live_", "svc_prod_"),
    key.replace("svc_", "SVC_"),
    `svc_live_${"-".repeat(49)}`,
    `svc_live_${"é".repeat(49)}`,
    "svc_live_".repeat(100_000),
  ];
  for (const text of others) assert.equal(parseKeyValue(text), null, text.slice(0, 80));
});

Deno.test("parseKeyValue: random text of the right shape is refused", () => {
  const dice = random(SEED);
  for (let round = 0; round < 2000; round++) {
    const text = `svc_live_${Array.from({ length: 49 }, () => dice.pick([...DIGITS])).join("")}`;
    assert.equal(parseKeyValue(text), null, `seed ${dice.seed}: ${text}`);
  }
});

Deno.test("hashKeyValue: is the SHA-256 of the text, in hexadecimal", () => {
  assert.equal(
    hashKeyValue("abc"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

Deno.test("maskKeyValue: shows the prefix and four characters, nothing of the rest", () => {
  const key = makeKeyValue("test", seededBytes(SEED));
  assert.equal(maskKeyValue(key), `${key.slice(0, 13)}…`);
  assert.match(maskKeyValue(key), /^svc_test_[0-9A-Za-z]{4}…$/);
});

Deno.test("makeSecretText: its length follows from the number of bytes, all of which it uses", () => {
  const asked: number[] = [];
  const bytes = (n: number) => {
    asked.push(n);
    return new Uint8Array(n).fill(255);
  };
  const code = makeSecretText("claim_", 10, { bytes });
  assert.match(code, /^claim_[0-9A-Za-z]{14}$/);
  assert.notEqual(code, makeSecretText("claim_", 10, { bytes: (n) => new Uint8Array(n) }));
  assert.deepEqual(asked, [10]);
});
