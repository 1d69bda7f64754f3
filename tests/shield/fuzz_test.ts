import assert from "node:assert/strict";
import { parse } from "unbash";
import { judgeChain } from "../../core/shield/behaviour.ts";
import { decide } from "../../core/shield/decide.ts";
import { examineCommand } from "../../core/shield/examine.ts";
import { inspectCommand } from "../../core/shield/inspect.ts";
import { MAX_COMMAND_BYTES } from "../../core/shield/interpreter/limits.ts";
import { Policy } from "../../core/shield/policy/policy.ts";
import { ShieldResult } from "../../core/shield/model.ts";
import { SessionMemory } from "../../core/agents/guard/session_memory.ts";
import { CORES, OBFUSCATIONS, WRAPPERS } from "./cases.ts";

/** More of everything by SHIELD_FUZZ_INPUTS, another run by SHIELD_FUZZ_SEED. */
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

Deno.test("inspectCommand: invented input never throws, and unparseable input is never allowed", () => {
  console.log(`seed ${SEED}, ${INPUTS} inputs`);
  const random = seeded(SEED);
  let unparseable = 0;
  let slowestMs = 0;
  for (let i = 0; i < INPUTS; i++) {
    const command = invent(random);
    const before = performance.now();
    const result = inspectCommand(command);
    slowestMs = Math.max(slowestMs, performance.now() - before);
    if (i % 16 === 0) ShieldResult.parse(result);
    if (isBroken(command)) {
      unparseable++;
      assert.notEqual(
        result.verdict,
        "allow",
        `seed ${SEED}, input ${i}: ${JSON.stringify(command)}`,
      );
    }
  }
  console.log(`${unparseable} could not be parsed; the slowest took ${slowestMs.toFixed(1)} ms`);
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

Deno.test("inspectCommand: a path of 64 KB of slashes takes linear time", () => {
  const slashes = "/".repeat(MAX_COMMAND_BYTES - 100);
  for (const program of ["basename", "dirname"]) {
    // One that is read in time that grows with the square takes ten seconds, and this some minutes.
    for (let n = 0; n < 10; n++) {
      const { verdict } = inspectCommand(`rm -rf "$(${program} /etc${slashes}x)"`);
      assert.notEqual(verdict, "allow");
    }
  }
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

Deno.test("inspectCommand: a policy that allows everything does not allow unparseable input", () => {
  console.log(`seed ${SEED}, ${INPUTS / 4} inputs`);
  const rules = [{ id: "all", match: {}, verdict: "allow" }];
  const policy = Policy.parse({ rules, thresholds: { approve: 100, deny: 101 } });
  const random = seeded(SEED + 3);
  for (let i = 0; i < INPUTS / 4; i++) {
    const command = invent(random);
    if (!isBroken(command)) continue;
    const { verdict } = inspectCommand(command, { policy });
    assert.notEqual(verdict, "allow", `seed ${SEED}, input ${i}: ${JSON.stringify(command)}`);
  }
});

Deno.test("judgeChain: earlier commands of a session never make a verdict milder", () => {
  console.log(`seed ${SEED}, ${INPUTS / 4} inputs`);
  const random = seeded(SEED + 4);
  const session = new SessionMemory();
  const nowhere = { labels: {}, who: null, atMs: null };
  const order = ["allow", "approve", "deny"];
  for (let i = 0; i < INPUTS / 4; i++) {
    const file = pick(["/tmp/a", "b", "/tmp/c"], random);
    const command = pick([`${invent(random)} > ${file}`, `sh ${file}`, invent(random)], random);
    const alone = examineCommand(command);
    const judged = judgeChain(command, alone, session.recall(0), null, nowhere);
    const before = decide(alone, null, nowhere).result.verdict;
    const { verdict } = judged.decision.result;
    assert.ok(
      order.indexOf(verdict) >= order.indexOf(before),
      `seed ${SEED}, input ${i}: ${JSON.stringify(command)}`,
    );
    session.note(`cmd_${i}`, judged.examination, judged.steps, 0);
    session.succeeded(`cmd_${i}`);
  }
});
