import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { setImmediate } from "node:timers";
import { DEPTH_MAX, MEMBERS_MAX, parseJson, TooManyParts } from "../../routes/call/parse_json.ts";
import { longestParsed } from "../support/longest_parsed.ts";
import { type Random, random } from "../support/random.ts";

/** The most that one piece may hold: a little more than two slices, and a value that cannot be cut. */
const PIECE_CHARS_MAX = 40_000;

const space = (dice: Random) => dice.pick(["", "", "", " ", "\n", "\t\r "]);
const NAMES = ["a", "name", "__proto__", "constructor", "7", "", '\\"', "\\u0041", "]{,["];

/** Some JSON of about so many characters, as nobody writes it. */
function someJson(dice: Random, size: number, depth = 0): string {
  const pad = () => space(dice);
  if (size < 40 || depth > 40) {
    return dice.pick([
      "0",
      "-1.5e3",
      "true",
      "null",
      '""',
      '"[{,]}\\\\"',
      '"\\""',
      "[]",
      "{}",
      "{ }",
    ]);
  }
  const list = dice.chance(0.5);
  const parts: string[] = [];
  for (let left = size; left > 0;) {
    const share = dice.chance(0.1) ? Math.ceil(left * 0.8) : Math.min(left, 1 + dice.below(200));
    const name = list
      ? ""
      : `${pad()}"${dice.pick(NAMES)}${dice.pick(["", dice.below(50)])}"${pad()}:`;
    const part = `${name}${pad()}${someJson(dice, share - 20, depth + 1)}${pad()}`;
    parts.push(part);
    left -= Math.max(share, 8);
  }
  return list ? `[${parts.join(",")}]` : `{${parts.join(",")}}`;
}

/** What `JSON.parse` makes of it, or null for what it refuses. */
function plainly(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

async function inPieces(text: string): Promise<{ value: unknown } | null> {
  try {
    return { value: await parseJson(text) };
  } catch (error) {
    ok(error instanceof SyntaxError, String(error));
    return null;
  }
}

Deno.test("parseJson: accepts and refuses large texts exactly like JSON.parse", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const dice = random(seed);
    const text = `${space(dice)}${someJson(dice, 100_000)}${space(dice)}`;
    const right = await inPieces(text);
    deq(right, plainly(text), `seed ${seed}`);
    eq(JSON.stringify(right), JSON.stringify(plainly(text)), `seed ${seed}: another order`);
    for (let n = 0; n < 20; n++) {
      const at = dice.below(text.length), cut = dice.below(3);
      const more = dice.pick([
        "",
        ",",
        "]",
        "}",
        "[",
        "{",
        '"',
        ":",
        "0",
        "\\",
        ' "x": 1',
        "\u00a0",
      ]);
      const broken = text.slice(0, at) + more + text.slice(at + cut);
      deq(await inPieces(broken), plainly(broken), `seed ${seed}, at ${at}: ${more} for ${cut}`);
    }
  }
});

Deno.test("parseJson: errors at the edge of a piece are found", async () => {
  const long = `"${"x".repeat(20_000)}"`, large = `[${long},${long}]`;
  const texts = [
    `[${long},]`,
    `[,${long}]`,
    `[${long},,${long}]`,
    `[${large}${large}]`,
    `[1${large}]`,
    `[${large} 1]`,
    `[${large},]`,
    `{${large}}`,
    `{"a"${large}}`,
    `{"a":1${large}}`,
    `{"a":${large},}`,
    `{"a":${large} "b":1}`,
    `[${large}}`,
    `[${large}`,
    `[${large}] x`,
    `[${large}],[]`,
    `{"a":${large},"a":1,"__proto__":${large}}`,
    `[${large},[],{},${large}]`,
    `[ ${" ".repeat(40_000)} ]`,
    `{ ${" ".repeat(40_000)} }`,
  ];
  for (const text of texts) deq(await inPieces(text), plainly(text), text.replaceAll(long, "L"));
});

Deno.test("parseJson: other tasks run between its pieces, and no piece is large", async () => {
  const shapes = [
    `{${Array.from({ length: 15_000 }, (_, n) => `"name ${n} ${"x".repeat(60)}":${n}`).join(",")}}`,
    `[${Array.from({ length: 100 }, (_, n) => `[${`"${n}",`.repeat(2_500)}0]`).join(",")}]`,
    // Each bracket holds nearly a piece before the next one opens.
    `${`[${'"value",'.repeat(2_000)}`.repeat(60)}0${"]".repeat(60)}`,
  ];
  for (const text of shapes) {
    ok(text.length > 900_000, `only ${text.length} characters`);
    const whole = JSON.parse(text);
    let turns = 0, done = false;
    const look = () => {
      turns++;
      if (!done) setImmediate(look);
    };
    const longest = await longestParsed(async () => {
      setImmediate(look);
      deq(await parseJson(text), whole);
    });
    done = true;
    ok(longest <= PIECE_CHARS_MAX, `${longest} characters were parsed at once`);
    ok(turns >= text.length / PIECE_CHARS_MAX, `others had ${turns} turns`);
  }
});

Deno.test("parseJson: a large text has bounded members and depth", async () => {
  const list = (length: number) => `["${"x".repeat(20_000)}"${",0".repeat(length - 1)}]`;
  eq((await parseJson(list(MEMBERS_MAX)) as unknown[]).length, MEMBERS_MAX);
  const names = Array.from({ length: MEMBERS_MAX + 1 }, (_, n) => `"${n}":0`);
  const deep = (depth: number) => `${"[".repeat(depth)}"${"x".repeat(20_000)}"${"]".repeat(depth)}`;
  await parseJson(deep(DEPTH_MAX));
  for (const text of [list(MEMBERS_MAX + 1), `{${names.join(",")}}`, deep(DEPTH_MAX + 1)]) {
    await rejects(parseJson(text), TooManyParts);
  }
});
