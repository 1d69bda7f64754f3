import assert from "node:assert/strict";
import {
  base62Length,
  constantTimeEqual,
  encodeBase62,
  encodeUint32Base62,
} from "../../core/codec/text.ts";
import { seededBytes } from "../support/seeded.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const numberOf = (text: string) =>
  [...text].reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n);

Deno.test("constantTimeEqual: is true for equal texts only", () => {
  assert.equal(constantTimeEqual("", ""), true);
  assert.equal(constantTimeEqual("sécret", "sécret"), true);
  for (const other of ["", "secre", "secret ", "Secret", "secreT", "secret\0"]) {
    assert.equal(constantTimeEqual("secret", other), false, other);
  }
});

Deno.test("constantTimeEqual: different texts with the same UTF-8 bytes are different", () => {
  assert.equal(constantTimeEqual("\ud800", "\ud801"), false);
  assert.equal(constantTimeEqual("\ud800", "\ufffd"), false);
});

Deno.test("encodeBase62: 32 bytes are always 43 characters, and no two values share a text", () => {
  assert.equal(base62Length(32), 43);
  assert.equal(encodeBase62(new Uint8Array(32)), "0".repeat(43));
  const seed = 62;
  const entropy = seededBytes(seed);
  for (let round = 0; round < 500; round++) {
    const bytes = entropy.bytes(32);
    const text = encodeBase62(bytes);
    assert.match(text, /^[0-9A-Za-z]{43}$/);
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    assert.equal(numberOf(text), BigInt(`0x${hex}`), `seed ${seed}, round ${round}`);
  }
});

Deno.test("encodeBase62: the greatest value of every size fits its length", () => {
  for (let size = 0; size <= 64; size++) {
    const text = encodeBase62(new Uint8Array(size).fill(255));
    assert.equal(text.length, base62Length(size));
    assert.equal(numberOf(text), 256n ** BigInt(size) - 1n);
  }
});

Deno.test("encodeUint32Base62: every 32-bit number has 6 characters and its own text", () => {
  for (const value of [0, 1, 61, 62, 3843, 3844, 2 ** 31, 2 ** 32 - 1]) {
    const text = encodeUint32Base62(value);
    assert.equal(text.length, 6);
    assert.equal(numberOf(text), BigInt(value));
  }
});
