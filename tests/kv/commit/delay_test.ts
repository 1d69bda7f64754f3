import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { CommitDelay } from "../../../kv/commit/delay.ts";

/** How many turns of the event loop a commit waits; `callers` gives the number of callers in each. */
async function turnsWith(callers: (turn: number) => number, commits: readonly number[] = []) {
  let turns = 0, over = false;
  const delay = new CommitDelay(() => callers(turns));
  for (const committed of commits) delay.committed(committed);
  setImmediate(function count() {
    turns++;
    if (!over) setImmediate(count);
  });
  await delay.wait();
  over = true;
  return turns;
}

Deno.test("CommitDelay: waits while more callers come, for at most four turns", async () => {
  assert.equal(await turnsWith(() => 1), 1);
  assert.equal(await turnsWith((turn) => Math.min(turn, 2)), 3);
  assert.equal(await turnsWith((turn) => 1 + turn), 4);
});

Deno.test("CommitDelay: sixteen callers do not wait", async () => {
  assert.equal(await turnsWith(() => 15), 1);
  assert.equal(await turnsWith(() => 16), 0);
  assert.equal(await turnsWith((turn) => 10 + 3 * turn), 2);
});

Deno.test("CommitDelay: after eight commits of a single caller the next does not wait until another joins", async () => {
  const alone = Array(8).fill(1);
  assert.equal(await turnsWith(() => 1, alone), 0);
  assert.equal(await turnsWith(() => 2, alone), 1);
  assert.equal(await turnsWith(() => 1, alone.slice(1)), 1);
  assert.equal(await turnsWith(() => 1, [...alone, 2]), 1);
});
