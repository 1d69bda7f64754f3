import { deepStrictEqual as deq } from "node:assert/strict";
import { newCommand } from "../../core/shield/model.ts";
import { readPhrases } from "../../core/shield/packs/phrases.ts";

const PHRASES = readPhrases([
  "tool|other remove|wipe --force",
  "tool --size 0",
  "tool -n|--count=0|none",
  "tool open …0.0.0.0/0…",
  "tool drop-…",
  "tool ….reg",
  "alone",
]);

function says(name: string, ...args: readonly string[]): boolean {
  return PHRASES.matches(newCommand({
    valuedLetters: null,
    name,
    program: name,
    args,
    redirections: [],
    assignments: new Map(),
    cwd: ".",
    stdin: null,
    inputs: null,
    wrappers: [],
    span: { start: 0, end: 0 },
  }));
}

Deno.test("readPhrases: the words of a phrase match in their order, with any others between them", () => {
  deq(PHRASES.names, ["tool", "other", "alone"]);
  const meant = [
    says("tool", "--quiet", "Remove", "x", "--force"),
    says("other", "wipe", "--force"),
    says("tool", "--size=0"),
    says("tool", "--size", "0"),
    says("tool", "--count=3", "--count=0"),
    says("tool", "-n", "none", "x"),
    says("tool", "open", "--to=10.0.0.0/8,0.0.0.0/0"),
    says("tool", "drop-all"),
    says("tool", "x.REG"),
    says("alone"),
  ];
  deq(meant, meant.map(() => true));
  const others = [
    says("tool", "--force", "remove"),
    says("tool", "remove"),
    says("other", "--size", "0"),
    says("tool", "--size", "10"),
    says("tool", "--count", "3", "0"),
    says("tool", "0", "-n"),
    says("tool", "open", "10.0.0.0/8"),
    says("tool", "drop"),
    says("unknown", "remove", "--force"),
  ];
  deq(others, others.map(() => false));
});
