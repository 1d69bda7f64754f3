import assert from "node:assert/strict";
import { parse } from "unbash";
import { inspectCommand } from "../../core/shield/inspect.ts";
import { ShieldResult } from "../../core/shield/result.ts";
import { CORES, OBFUSCATIONS, WRAPPERS } from "./cases.ts";

const SEED = Number(Deno.env.get("SHIELD_FUZZ_SEED") ?? "20261121");
const INPUTS = Number(Deno.env.get("SHIELD_FUZZ_INPUTS") ?? "4000");

/** Mulberry32: 32 bits of state, enough to repeat a failure from its seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const PIECES = [
  "rm",
  "-rf",
  "/",
  "sudo",
  "sh",
  "-c",
  "echo",
  "cat",
  "git",
  "reset",
  "--hard",
  "curl",
  "x",
  "$X",
  "${X:-/}",
  "$(",
  ")",
  "`",
  "'",
  '"',
  "\\",
  "|",
  "||",
  "&&",
  ";",
  "&",
  "\n",
  "<<EOF",
  "EOF",
  "<<<",
  ">",
  ">>",
  "<(",
  "{",
  "}",
  "{a,b}",
  "(",
  "((",
  "))",
  "$((",
  "[[",
  "]]",
  "if",
  "then",
  "fi",
  "for",
  "in",
  "do",
  "done",
  "case",
  "esac",
  "while",
  "f()",
  "*",
  "?",
  "[",
  "]",
  "~",
  "$'",
  "\\x72",
  "=",
  "A=",
  "eval",
  "xargs",
  "find",
  "-exec",
  "{}",
  "\\;",
  "python3",
  "base64",
  "-d",
  "#",
  "!",
  "\0",
  "\r",
  "\u00e9",
  "\ud800",
  "😀",
  "coproc",
  "time",
  "select",
  "function",
  "exec",
  "2>&1",
  "/dev/sda",
  "|&",
  "%s",
  "printf",
];

function pick<T>(items: readonly T[], random: () => number): T {
  return items[Math.floor(random() * items.length)] as T;
}

function invent(random: () => number): string {
  const shape = random();
  if (shape < 0.5) {
    const words = Array.from({ length: 1 + Math.floor(random() * 24) }, () => pick(PIECES, random));
    return words.join(random() < 0.7 ? " " : "");
  }
  const core = pick(CORES, random);
  const trick = pick(Object.values(OBFUSCATIONS), random);
  const whole = pick(Object.values(WRAPPERS), random)(
    trick.hide(random() < 0.5 ? core.danger : core.twin),
    trick.text,
  );
  if (shape < 0.7) return whole;
  const at = Math.floor(random() * whole.length);
  const piece = pick(PIECES, random);
  return shape < 0.85
    ? whole.slice(0, at)
    : whole.slice(0, at) + piece + whole.slice(at + Math.floor(random() * 3));
}

function isBroken(command: string): boolean {
  return command.includes("\0") || parse(command).errors !== undefined;
}

Deno.test("inspectCommand: invented input never throws, and what cannot be parsed is never allowed", () => {
  console.log(`seed ${SEED}, ${INPUTS} inputs`);
  const random = seeded(SEED);
  let unparseable = 0;
  for (let i = 0; i < INPUTS; i++) {
    const command = invent(random);
    const result = ShieldResult.parse(inspectCommand(command));
    if (isBroken(command)) {
      unparseable++;
      assert.notEqual(
        result.verdict,
        "allow",
        `seed ${SEED}, input ${i}: ${JSON.stringify(command)}`,
      );
    }
  }
  console.log(`${unparseable} could not be parsed`);
  assert.ok(unparseable > INPUTS / 20);
});

Deno.test("inspectCommand: appending a dangerous command never lowers the score", () => {
  console.log(`seed ${SEED}, ${INPUTS} inputs`);
  const random = seeded(SEED + 1);
  let compared = 0;
  for (let i = 0; i < INPUTS; i++) {
    const command = invent(random);
    const more = command + pick(["\n", "; ", " && "], random) + pick(CORES, random).danger;
    // After `a &`, `a |` or a backslash the joined text is another command, or none.
    if (command.endsWith("\\") || isBroken(command) || isBroken(more)) continue;
    const { risk_score: before, rule_ids } = inspectCommand(command);
    // More text can also complete a broken inner script, which is then judged as what it says.
    if (rule_ids.includes("structure.unparseable")) continue;
    compared++;
    const after = inspectCommand(more).risk_score;
    assert.ok(
      after >= before,
      `seed ${SEED}, input ${i}: ${before} > ${after} for ${JSON.stringify(more)}`,
    );
  }
  assert.ok(compared > INPUTS / 4);
});

Deno.test("inspectCommand: labels of production never lower the score", () => {
  const random = seeded(SEED + 2);
  for (let i = 0; i < 1000; i++) {
    const command = invent(random);
    const plain = inspectCommand(command).risk_score;
    const production = inspectCommand(command, { labels: { env: "prod" } }).risk_score;
    assert.ok(production >= plain && (plain > 0 || production === 0), JSON.stringify(command));
  }
});
