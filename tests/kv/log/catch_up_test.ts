import { strictEqual as eq } from "node:assert/strict";
import { LogFollower } from "../../../kv/log/follow.ts";
import { Bench, item } from "../../support/kv.ts";

Deno.test("LogFollower.catchUp: callers that wait for one log share its steps", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant, items } = bench;
  let steps = 0;
  const follower = new LogFollower(store, log, {
    name: "f",
    lazy: true,
    wants: () => false,
    cares: () => Promise.resolve(true),
    eventsPerStep: 5,
    place: async (db, where) => (await db.get(items, where, "place"))?.n ?? 0,
    step: (tx, where, events) => {
      steps++;
      tx.put(items, where, item("place", { n: events.at(-1)!.seq }));
      return Promise.resolve({ done: events.length, part: "" });
    },
  }, (error) => bench.errors.push(error));
  for (let n = 0; n < 40; n++) await store.append(tenant, "t", "{}");
  await log.flush();
  await Promise.all(Array.from({ length: 10 }, () => follower.catchUp(tenant)));
  eq(steps, 8);
  eq((await store.get(items, tenant, "place"))?.n, 40);
});
