import assert from "node:assert/strict";

import { canonicalJson } from "../../core/codec/canonical.ts";
import { random } from "../support/random.ts";

const numberOf = (bits: string) => new DataView(bytesOf(bits).buffer).getFloat64(0);
const bytesOf = (hex: string) =>
  Uint8Array.from(hex.match(/../g) ?? [], (two) => parseInt(two, 16));

/** RFC 8785, appendix B. */
const NUMBERS: Readonly<Record<string, string>> = {
  "0000000000000000": "0",
  "8000000000000000": "0",
  "0000000000000001": "5e-324",
  "8000000000000001": "-5e-324",
  "7fefffffffffffff": "1.7976931348623157e+308",
  "ffefffffffffffff": "-1.7976931348623157e+308",
  "4340000000000000": "9007199254740992",
  "c340000000000000": "-9007199254740992",
  "4430000000000000": "295147905179352830000",
  "44b52d02c7e14af5": "9.999999999999997e+22",
  "44b52d02c7e14af6": "1e+23",
  "44b52d02c7e14af7": "1.0000000000000001e+23",
  "444b1ae4d6e2ef4e": "999999999999999700000",
  "444b1ae4d6e2ef4f": "999999999999999900000",
  "444b1ae4d6e2ef50": "1e+21",
  "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
  "3eb0c6f7a0b5ed8d": "0.000001",
  "41b3de4355555553": "333333333.3333332",
  "41b3de4355555554": "333333333.33333325",
  "41b3de4355555555": "333333333.3333333",
  "41b3de4355555556": "333333333.3333334",
  "41b3de4355555557": "333333333.33333343",
  "becbf647612f3696": "-0.0000033333333333333333",
  "43143ff3c1cb0959": "1424953923781206.2",
};

Deno.test("canonicalJson: numbers read as in appendix B of RFC 8785", () => {
  for (const [bits, text] of Object.entries(NUMBERS)) {
    assert.equal(canonicalJson(numberOf(bits)), text, bits);
  }
});

Deno.test("canonicalJson: NaN and infinities are refused", () => {
  for (const bits of ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"]) {
    assert.throws(() => canonicalJson(numberOf(bits)), TypeError, bits);
  }
});

Deno.test("canonicalJson: the sample of RFC 8785 section 3.2 gives the bytes of section 3.2.4", () => {
  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  const hex = "7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e" +
    "756d62657273223a5b3333333333333333332e333333333333332c31652b3330" +
    "2c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac24" +
    "5c75303030665c6e4127425c225c5c5c5c5c222f227d";
  const bytes = new TextEncoder().encode(canonicalJson(JSON.parse(sample)));
  assert.deepEqual(bytes, bytesOf(hex));
});

Deno.test("canonicalJson: keys are in the order of their UTF-16 code units, as in section 3.2.3", () => {
  const sample = {
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis",
  };
  assert.equal(
    canonicalJson(sample),
    '{"\\r":"Carriage Return","1":"One","\u0080":"Control",' +
      '"\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign",' +
      '"\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  );
});

Deno.test("canonicalJson: keys that look like numbers are in text order, which no object has", () => {
  assert.equal(canonicalJson({ 2: "b", 10: "a", 1: "c" }), '{"1":"c","10":"a","2":"b"}');
});

Deno.test("canonicalJson: nested objects are sorted, arrays keep their order", () => {
  const value = [{ b: { d: 1, c: [] }, a: {} }, 3, [2, 1]];
  assert.equal(canonicalJson(value), '[{"a":{},"b":{"c":[],"d":1}},3,[2,1]]');
});

Deno.test("canonicalJson: strings are escaped as JSON.stringify escapes them", () => {
  for (let unit = 0; unit < 0x10000; unit++) {
    if (unit >= 0xd800 && unit <= 0xdfff) continue;
    const text = `a${String.fromCharCode(unit)}z`;
    assert.equal(canonicalJson(text), JSON.stringify(text));
    assert.equal(canonicalJson({ [text]: 0 }), JSON.stringify({ [text]: 0 }));
  }
});

Deno.test("canonicalJson: a lone surrogate is refused, in values and in keys", () => {
  for (const text of ["\ud800", "\udc00", "a\udead", "\ud83d\ud83d\ude00"]) {
    assert.throws(() => canonicalJson(text), TypeError);
    assert.throws(() => canonicalJson({ [text]: 1 }), TypeError);
  }
});

Deno.test("canonicalJson: undefined members are left out, undefined elsewhere is refused", () => {
  assert.equal(canonicalJson({ a: undefined, b: 1, c: undefined }), '{"b":1}');
  for (const value of [undefined, [undefined], new Array(1), { a: [1, undefined] }]) {
    assert.throws(() => canonicalJson(value), TypeError);
  }
});

Deno.test("canonicalJson: values that JSON cannot hold are refused, not converted", () => {
  const others = [
    new Date(0),
    new Map(),
    new Uint8Array(1),
    Object("boxed"),
    1n,
    Symbol("s"),
    () => 1,
    { toJSON: () => 1 },
  ];
  for (const value of others) {
    assert.throws(() => canonicalJson(value), TypeError);
    assert.throws(() => canonicalJson({ a: value }), TypeError);
  }
});

Deno.test("canonicalJson: objects without prototype and a key `__proto__` are plain data", () => {
  const bare: Record<string, unknown> = Object.create(null);
  bare.b = 1;
  bare.a = 2;
  assert.equal(canonicalJson(bare), '{"a":2,"b":1}');
  assert.equal(canonicalJson(JSON.parse('{"b":1,"__proto__":{}}')), '{"__proto__":{},"b":1}');
});

Deno.test("canonicalJson: accepts 64 levels, refuses 65 and a value that contains itself", () => {
  const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
  assert.equal(canonicalJson(nested(64)).length, 128);
  assert.throws(() => canonicalJson(nested(65)), RangeError);
  const loop: Record<string, unknown> = {};
  loop.a = loop;
  loop.b = loop;
  assert.throws(() => canonicalJson(loop), RangeError);
});

Deno.test("canonicalJson: does not depend on insertion order, and parses back to the value", () => {
  const dice = random(20_250_101);
  const keys = ["a", "B", "é", "10", "9", "\n", "\ud83d\ude00", "\ufb33", "zz", ""];
  const build = (levels: number): unknown => {
    if (levels === 0) return dice.pick([null, true, -0.5, 1e21, "x", 'q"\\\u2028', ""]);
    if (dice.chance(0.3)) return [build(levels - 1), build(levels - 1)];
    return Object.fromEntries(keys.slice(dice.below(10)).map((key) => [key, build(levels - 1)]));
  };
  const reorder = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reorder);
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(([key, member]) => [key, reorder(member)] as const);
    return Object.fromEntries(dice.shuffle(members));
  };
  for (let round = 0; round < 300; round++) {
    const value = build(3);
    const text = canonicalJson(value);
    assert.equal(canonicalJson(reorder(value)), text, `seed ${dice.seed}, round ${round}`);
    assert.deepEqual(JSON.parse(text), value, `seed ${dice.seed}, round ${round}`);
    assert.equal(canonicalJson(JSON.parse(text)), text);
  }
});
