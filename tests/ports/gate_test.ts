import assert from "node:assert/strict";

import { makeGate } from "../../core/ports/gate.ts";

const refuse = () => new Error("full");

/** Tasks that begin when the gate lets them, and end when the test says. */
function makeTasks() {
  const started: number[] = [];
  const ends: PromiseWithResolvers<number>[] = [];
  const task = (id: number) => () => {
    started.push(id);
    return (ends[id] = Promise.withResolvers<number>()).promise;
  };
  return { started, ends, task };
}

/** Lets everything run that has no task to wait for. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

Deno.test("gate: runs up to its limit, and the others in their order", async () => {
  const gate = makeGate({ running: 2, waiting: 3, refuse });
  const { started, ends, task } = makeTasks();
  const results = [0, 1, 2, 3, 4].map((id) => gate(task(id)));
  await settle();
  assert.deepEqual(started, [0, 1]);
  ends[1]!.resolve(10);
  await settle();
  assert.deepEqual(started, [0, 1, 2]);
  ends[0]!.resolve(0);
  ends[2]!.resolve(20);
  await settle();
  assert.deepEqual(started, [0, 1, 2, 3, 4]);
  ends[3]!.resolve(30);
  ends[4]!.resolve(40);
  assert.deepEqual(await Promise.all(results), [0, 10, 20, 30, 40]);
});

Deno.test("gate: refuses a task beyond the queue at once and never runs it", async () => {
  const gate = makeGate({ running: 1, waiting: 1, refuse });
  const { started, ends, task } = makeTasks();
  const running = gate(task(0));
  const waiting = gate(task(1));
  await assert.rejects(gate(task(2)), { message: "full" });
  ends[0]!.resolve(0);
  await running;
  await settle();
  ends[1]!.resolve(1);
  await waiting;
  assert.deepEqual(started, [0, 1]);
});

Deno.test("gate: a task that fails frees its place, also one that throws synchronously", async () => {
  const gate = makeGate({ running: 1, waiting: 0, refuse });
  for (let round = 0; round < 3; round++) {
    await assert.rejects(gate(() => Promise.reject(new Error("no"))), { message: "no" });
    await assert.rejects(
      gate(() => {
        throw new Error("at once");
      }),
      { message: "at once" },
    );
  }
  assert.equal(await gate(() => Promise.resolve("yes")), "yes");
});
