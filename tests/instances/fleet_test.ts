import { deepStrictEqual as deq, match, strictEqual as eq } from "node:assert/strict";
import { openMemoryStore } from "../cluster/shared_store.ts";
import {
  countsOf,
  finishAll,
  makeFleet,
  sent,
  show,
  silent,
  start,
} from "../agents/commands/fleet_fixtures.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { runsOf } from "../support/linked_agent.ts";
import { World } from "../support/world.ts";

/** Needs an approval. */
const HELD = "rm /tmp/../etc/hosts";

/** So many instances on one store, each with a clock of its own: one whose clock stands still is frozen. */
async function instances(count: number) {
  const { opened: kv } = openMemoryStore();
  const worlds: World[] = [];
  for (let n = 1; n <= count; n++) worlds.push(await World.open({ kv, sole: false, seed: n }));
  const settle = async () => {
    for (let round = 0; round < 2; round++) for (const world of worlds) await world.settle();
  };
  return {
    worlds,
    settle,
    /** Moves the clocks of some instances on, a second at a time. */
    async pass(seconds: number, ...alive: World[]) {
      for (let n = 0; n < seconds; n++) {
        for (const world of alive) {
          world.clock.advance(1_000);
          await settle();
        }
      }
    },
    async [Symbol.asyncDispose]() {
      for (const world of worlds.toReversed()) await world[Symbol.asyncDispose]();
    },
  };
}

Deno.test("fleet_commands.start: a command that a dead instance does not claim runs where its agent connects anew", async () => {
  await using cluster = await instances(2);
  const [dead, two] = cluster.worlds as [World, World];
  const { owner, key, agents: [agent] } = await makeFleet(dead, 1);
  await dead.app.inbox.stop();
  const { body } = await start(two, owner, { all: true });
  await cluster.pass(8, two);
  deq(await countsOf(two, owner, body.id), { queued: 1 });
  const { identity } = agent!;
  const again = await ScriptedAgent.connect(two, key, { identity });
  await cluster.pass(5, two);
  deq(await countsOf(two, owner, body.id), { succeeded: 1 });
  deq(sent([agent!, again]), [0, 1]);
});

Deno.test("fleet_commands.start: a command that nobody claims for 30 s fails, and is not sent", async () => {
  await using cluster = await instances(2);
  const [one, two] = cluster.worlds as [World, World];
  const { owner, agents } = await makeFleet(one, 1);
  await one.app.inbox.stop();
  const { body } = await start(two, owner, { all: true });
  await cluster.pass(29, one, two);
  deq(await countsOf(two, owner, body.id), { queued: 1 });
  await cluster.pass(8, one, two);
  const { commands: [failed] } = await show(two, owner, body.id);
  match(failed.reason, /did not take it in time, so it was not sent; it is safe to ask again/);
  deq(sent(agents), [0]);
});

Deno.test("fleet_commands.start: a command that was handed over when its driver died has another turn", async () => {
  await using cluster = await instances(2);
  const [one, dead] = cluster.worlds as [World, World];
  const { owner, agents } = await makeFleet(one, 2);
  await one.app.inbox.stop();
  const { body } = await start(dead, owner, { all: true });
  await cluster.pass(25, one);
  deq(await countsOf(one, owner, body.id), { succeeded: 2 });
  deq(sent(agents), [1, 1]);
});

Deno.test("fleet_commands.start: an approved command whose agent moves while it is claimed has another turn", async () => {
  await using cluster = await instances(2);
  const [one, two] = cluster.worlds as [World, World];
  const { owner, key, agents: [agent] } = await makeFleet(one, 1);
  const admin = await one.join(owner, ["admin"]);
  const { body } = await start(one, owner, { all: true, command: HELD });
  // The agent's link at the first instance is not the newest any more, which that instance does not know yet.
  await one.app.inbox.stop();
  const { identity } = agent!;
  const again = await ScriptedAgent.connect(two, key, { identity });
  two.app.links.of = () => undefined;
  const approve = `/api/shield/approve/${body.approvals[0]}`;
  eq((await one.call("POST", approve, { as: admin.token })).status, 200);
  await cluster.pass(6, one, two);
  deq(await countsOf(one, owner, body.id), { queued: 1 });
  agent!.drop();
  Reflect.deleteProperty(two.app.links, "of");
  await cluster.pass(8, one, two);
  deq(await countsOf(one, owner, body.id), { succeeded: 1 });
  deq(sent([agent!, again]), [0, 1]);
});

for (const what of ["a cancellation", "an approval"] as const) {
  Deno.test(`fleet_commands: ${what} at an instance that is taken for dead reaches the new driver at once`, async () => {
    await using cluster = await instances(2);
    const [frozen, two] = cluster.worlds as [World, World];
    const { owner, agents } = await makeFleet(two, 3);
    const admin = await two.join(owner, ["admin"]);
    silent(agents);
    const command = what === "an approval" ? HELD : "uptime";
    const { body } = await start(frozen, owner, { all: true, command, parallel: 2 });
    await cluster.pass(25, two);
    const [path, by] = what === "an approval"
      ? [`/api/shield/approve/${body.approvals[0]}`, admin]
      : [`/api/v1/commands/${body.id}/cancel`, owner];
    eq((await frozen.call("POST", path, { as: by.token, body: {} })).status, 200);
    await cluster.settle();
    const now = what === "an approval" ? { running: 2, queued: 1 } : { running: 2, cancelled: 1 };
    deq(await countsOf(two, owner, body.id), now);
    for (let n = 0; n < 2; n++) {
      for (const agent of agents) finishAll(agent);
      await cluster.settle();
    }
  });
}

Deno.test("fleet_commands.start: a driver that takes over what it drove before goes on from the present state", async () => {
  await using cluster = await instances(3);
  const [one, two, three] = cluster.worlds as [World, World, World];
  const { owner, agents } = await makeFleet(three, 2);
  const admin = await three.join(owner, ["admin"]);
  silent(agents);
  const { body } = await start(one, owner, { all: true, command: HELD, parallel: 1 });
  await cluster.pass(20, two, three);
  const approve = `/api/shield/approve/${body.approvals[0]}`;
  eq((await two.call("POST", approve, { as: admin.token })).status, 200);
  await cluster.settle();
  deq(sent(agents), [1, 0]);
  // The second one dies before the first one has noticed that it drives no longer.
  one.clock.freeze(20_000);
  await one.app.fleetCommands.takeOver(two.app.instance);
  finishAll(agents[0]!);
  await cluster.pass(2, one, three);
  deq(sent(agents), [1, 1]);
  finishAll(agents[1]!);
  await cluster.pass(2, one, three);
  eq((await show(three, owner, body.id)).status, "succeeded");
});

Deno.test("fleet_commands.sweep: what an instance records that has just started is left to it", async () => {
  await using cluster = await instances(1);
  const [one] = cluster.worlds as [World];
  const { owner, agents } = await makeFleet(one, 2);
  const recorded = Promise.withResolvers<void>(), going = Promise.withResolvers<void>();
  await using fresh = await World.open({ kv: one.kv, sole: false, seed: 2 });
  const { limiter } = fresh.app;
  const take = limiter.takeForCommands.bind(limiter);
  limiter.takeForCommands = async (...args) => {
    recorded.resolve();
    await going.promise;
    return await take(...args);
  };
  const started = start(fresh, owner, { all: true });
  await recorded.promise;
  await one.app.fleetCommands.sweep();
  going.resolve();
  const { status, body } = await started;
  eq(status, 202);
  await one.settle();
  await fresh.settle();
  deq(await countsOf(one, owner, body.id), { succeeded: 2 });
  eq(agents.every((agent) => runsOf(agent).length === 1), true);
});
