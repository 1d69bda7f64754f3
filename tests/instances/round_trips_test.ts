import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { openCosts } from "./cost.ts";
import { countedKv } from "./counted_kv.ts";
import { World } from "../support/world.ts";

Deno.test("shared store: a GET by key costs two reads and a share of one commit", async () => {
  await using b = await openCosts();
  deepStrictEqual(await b.cost(`/api/v1/agents/${b.agent.id}`, b.key), { reads: 2, commits: 1 });
});

Deno.test("shared store: a GET by a person costs two reads", async () => {
  await using b = await openCosts();
  deepStrictEqual(await b.cost(`/api/v1/agents/${b.agent.id}`, b.token), { reads: 2, commits: 0 });
});

Deno.test("shared store: an exec at the link's own instance costs six calls", async () => {
  await using b = await openCosts();
  deepStrictEqual(
    await b.cost(`/api/exec/${b.agent.id}?command=uname`, b.key),
    { reads: 4, commits: 2 },
  );
});

Deno.test("shared store: an idle agent link makes no calls between its heartbeats", async () => {
  const engine = await Deno.openKv(":memory:");
  const { kv, calls } = countedKv(engine);
  await using world = await World.open({ kv, sole: false });
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:admin"]);
  const callsOf20s = async () => {
    // What just happened is recorded and checked within the first seconds.
    for (let second = 0; second < 5; second++) {
      world.clock.advance(1_000);
      await world.settle();
    }
    const before = calls.reads + calls.commits;
    for (let second = 0; second < 20; second++) {
      world.clock.advance(1_000);
      await world.settle();
    }
    return calls.reads + calls.commits - before;
  };
  const without = await callsOf20s();
  const agents = [];
  for (let n = 0; n < 5; n++) {
    agents.push(await ScriptedAgent.connect(world, value, { identity: newIdentity() }));
  }
  strictEqual(await callsOf20s(), without);
});
