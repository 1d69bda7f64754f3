import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { judgeChain } from "../../core/shield/behaviour.ts";
import { examineCommand } from "../../core/shield/examine.ts";
import type { Example } from "../../core/shield/model.ts";
import { RULES } from "../../core/shield/packs/packs.ts";
import { SessionMemory } from "../../core/agents/guard/session_memory.ts";

/** The ids of the rules that fire on a command, or on the last command of a session. */
function firing(example: Example): readonly string[] {
  if (typeof example === "string") {
    return examineCommand(example).findings.map(({ rule }) => rule.id);
  }
  const session = new SessionMemory();
  const where = { labels: {}, who: null, atMs: null };
  let ids: readonly string[] = [];
  for (const [i, command] of example.entries()) {
    const memory = session.recall(0);
    const { decision, examination, steps } = judgeChain(
      command,
      examineCommand(command),
      memory,
      null,
      where,
    );
    ids = decision.result.rule_ids;
    session.note(`cmd_${i}`, examination, steps, 0);
    session.succeeded(`cmd_${i}`);
  }
  return ids;
}

Deno.test("rules: every rule fires on each of its hits", () => {
  const silent = RULES.flatMap(({ id, hits }) =>
    hits.filter((hit) => !firing(hit).includes(id)).map((hit) => `${id}: ${hit}`)
  );
  deq(silent, []);
});

Deno.test("rules: no rule of a pack fires on the misses of the pack's rules", () => {
  const fired = RULES.flatMap(({ id, pack, misses }) =>
    misses.map((miss) => ({
      about: `${id}: ${miss}`,
      rules: firing(miss).filter((other) => other.startsWith(`${pack}.`)),
    }))
  );
  deq(fired.filter(({ rules }) => rules.length > 0), []);
});

Deno.test("rules: ids and titles within a pack are unique, and examples are distinct", () => {
  const names = RULES.flatMap(({ id, pack, title }) => [id, `${pack}: ${title}`]);
  deq(names.filter((name, at) => names.indexOf(name) !== at), []);
  for (const { id, hits, misses } of RULES) {
    const examples = [...hits, ...misses].map(String);
    ok(new Set(examples).size === examples.length, `${id} repeats an example`);
  }
});
