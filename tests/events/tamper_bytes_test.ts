import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { verifyExport } from "../../core/events/trail/verify_export.ts";
import { describeVerdict } from "../../core/cli/remote/oversight/verdict.ts";
import { type NoteKey, readKey } from "../../core/protocol/checkpoints/note.ts";
import { random } from "../support/random.ts";
import { type Account, World } from "../support/world.ts";

const SEED = 20_260_701;
const TYPES = ["application/x-ndjson", "application/json"];

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

const check = (text: string, key: NoteKey) => verifyExport(chunksOf(text), { key });

/** A log of `rows` rows of two alternating types. */
async function open(world: World, rows: number): Promise<{ owner: Account; key: NoteKey }> {
  const owner = await world.signUp();
  for (let at = 0; at < rows; at++) {
    const body = { event_type: at % 4 === 3 ? "note" : "deploy", details: { text: "ä€😀" } };
    await world.call("POST", "/api/audit/event", { as: owner.token, body });
  }
  const { body } = await world.call("GET", "/api/audit/checkpoint", { as: owner.token });
  return { owner, key: readKey(body.public_key)! };
}

async function exported(world: World, { token }: Account, accept: string, query: string) {
  const path = `/api/audit/export${query}`;
  return (await world.call("GET", path, { as: token, headers: { accept } })).text;
}

Deno.test(`relay audit verify: one byte changed, added or removed anywhere is found, seed ${SEED}`, async () => {
  await using world = await World.open();
  const { owner, key } = await open(world, 20);
  const dice = random(SEED);
  for (const accept of TYPES) {
    for (const query of ["", "?event_type=note", "?event_type=none"]) {
      const text = await exported(world, owner, accept, query);
      eq((await check(text, key)).finding, null);
      for (let n = 0; n < 600; n++) {
        const at = dice.below(text.length);
        if (/[\ud800-\udfff]/.test(text.slice(Math.max(0, at - 1), at + 1))) continue;
        const other = dice.pick(["", " ", "\n", ",", "!", "A", "0", "=", "{", '"']);
        const end = dice.chance(0.5) ? at : at + 1;
        const edited = text.slice(0, at) + other + text.slice(end);
        if (edited === text) continue;
        const { finding } = await check(edited, key);
        ok(
          finding !== null,
          `${accept}${query}: ${JSON.stringify(text.slice(at - 30, at))} + ${
            JSON.stringify(other)
          } at ${at} to ${end}`,
        );
      }
    }
  }
});

Deno.test("relay audit verify: only one spelling of a hash is valid", async () => {
  await using world = await World.open();
  const { owner, key } = await open(world, 20);
  for (const accept of TYPES) {
    const text = await exported(world, owner, accept, "?event_type=note");
    const hashes = [...text.matchAll(/(?<="hashes":\["|,")[A-Za-z0-9+/]{43}=(?=")/g)];
    ok(hashes.length > 5);
    for (const { index, 0: hash } of hashes) {
      const bytes = Uint8Array.fromBase64(hash);
      const longer = new Uint8Array([...bytes, 1, 2, 3]).toBase64();
      for (
        const other of [
          longer,
          ` ${hash}`,
          hash.slice(0, -1),
          `${hash}=`,
          hash.replace("=", "-="),
          "",
        ]
      ) {
        const { finding } = await check(text.slice(0, index) + other + text.slice(index + 44), key);
        ok(finding !== null, `${other} for ${hash}`);
      }
    }
    eq((await check(text, key)).finding, null);
  }
});

Deno.test("relay audit verify: a proof with wrong types, or in the other format, is a finding", async () => {
  await using world = await World.open();
  const { owner, key } = await open(world, 3);
  const [lines, json] = await Promise.all(TYPES.map((type) => exported(world, owner, type, "")));
  for (const whole of [lines!, json!]) {
    for (
      const other of ['"hashes":null', '"hashes":"x"', '"hashes":[1]', '"hashes":{"length":0}']
    ) {
      eq((await check(whole.replace(/"hashes":\[[^\]]*\]/, other), key)).finding?.kind, "proof");
    }
    for (const name of ["checkpoint", "public_key", "after"]) {
      const odd = whole.replace(new RegExp(`"${name}":("(\\\\.|[^"\\\\])*"|\\d+)`), `"${name}":{}`);
      eq((await check(odd, key)).finding?.kind, "proof", name);
    }
  }
  ok((await check(lines!.replace('\n{"proof"', '\n],"proof"'), key)).finding !== null);
  ok((await check(json!.replace('\n],"proof"', '\n{"proof"'), key)).finding !== null);
  ok((await check(json!.replace("[\n", "[\n\n"), key)).finding !== null);
});

Deno.test("relay audit verify: an overlong row counts as altered and is not kept in memory", async () => {
  await using world = await World.open();
  const { owner, key } = await open(world, 6);
  const lines = (await exported(world, owner, TYPES[0]!, "")).split("\n");
  const long = lines.with(3, lines[3]!.replace("ä€", "ä".repeat(2_000_000)));
  const { finding } = await check(long.join("\n"), key);
  deq([finding?.kind, finding?.first], ["altered", 4]);
});

Deno.test("relay audit verify: unsigned text after the checkpoint's signature is a finding", async () => {
  await using world = await World.open();
  const { owner, key } = await open(world, 6);
  for (const accept of TYPES) {
    const text = await exported(world, owner, accept, "");
    const end = text.indexOf('","public_key"');
    for (const more of ["!", "\\n", "— somebody AAAA\\n", "A".repeat(100_000)]) {
      const { finding } = await check(text.slice(0, end) + more + text.slice(end), key);
      eq(finding?.kind, "proof", more.slice(0, 20));
    }
  }
});

Deno.test("relay audit verify: a line of any length hides no rows from the verification", async () => {
  await using world = await World.open();
  const { owner, key } = await open(world, 6);
  const text = await exported(world, owner, "application/json", "");
  const end = text.indexOf('","public_key"');
  // Of an overlong line everything after the first 64 KiB is dropped.
  const filled = 65_536 - (end - text.lastIndexOf("\n", end) - 1);
  const hidden = '","public_key":""},"events":[{"seq":1,"actor":"forged"}],"proof":{"checkpoint":"';
  const start = text.lastIndexOf("\n", end) + 1 + 65_536;
  const dropped = hidden.padEnd(65_536 * 3 - start, "A");
  const forged = text.slice(0, end) + "A".repeat(filled) + dropped + "A" + text.slice(end);
  deq(JSON.parse(forged).events, [{ seq: 1, actor: "forged" }]);
  ok((await check(forged, key)).finding !== null);
});

Deno.test("relay audit verify: text from the file cannot hide the result on a terminal", async () => {
  await using world = await World.open();
  const { owner, key } = await open(world, 3);
  const text = await exported(world, owner, TYPES[0]!, "?text=a");
  const verdict = await check(text, key);
  const { statement } = verdict;
  const hide = "\u001b[8m\u009b8m\u202e\u2028\r";
  const selection = { ...statement!.selection!, filter: `{"text":"${hide}"}` };
  for (const said of [{ origin: hide }, { time: hide }, { selection }]) {
    const shown = describeVerdict({ ...verdict, statement: { ...statement!, ...said } });
    ok(!/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u.test(shown), JSON.stringify(shown));
  }
});
