import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { countsIn, statusOf } from "../../../core/agents/fleet/counts.ts";
import { openMemoryStore } from "../../cluster/shared_store.ts";
import { tool, toolError } from "../../mcp/client.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { overKv, shared } from "../../support/kv.ts";
import { AGENT_RIGHTS, runsOf } from "../../support/linked_agent.ts";
import { NO_LIMITS } from "../../support/no_limits.ts";
import { mulberry32 } from "../../support/random.ts";
import { World } from "../../support/world.ts";
import { countsOf, finishAll, makeFleet, sent, show, silent, start } from "./fleet_fixtures.ts";

Deno.test("fleet_commands.start: an agent that is gone fails at once; one that just lost its link is waited for", async () => {
  await using world = await World.open();
  const { owner, key, agents } = await makeFleet(world, 3);
  const [first, second] = agents as [ScriptedAgent, ScriptedAgent];
  first.drop();
  await world.advance(31_000);
  second.drop();
  await world.settle();
  const { body } = await start(world, owner, { all: true, parallel: 1 });
  deq(await countsOf(world, owner, body.id), { failed: 1, queued: 1, succeeded: 1 });
  const { commands: [failed] } = await show(world, owner, body.id, "?status=failed");
  deq([failed.agent_name, failed.reason], ["web-01", "its agent is not connected"]);
  await ScriptedAgent.connect(world, key, { identity: second.identity });
  await world.advance(1_000);
  deq(await countsOf(world, owner, body.id), { failed: 1, succeeded: 2 });
});

Deno.test("fleet_commands.start: repeated with its Idempotency-Key it is the first one", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 2);
  const key = { "idempotency-key": "k1" };
  const [first, second] = await Promise.all([
    start(world, owner, { all: true }, key),
    start(world, owner, { all: true }, key),
  ]);
  const both = [first, second].filter(({ status }) => status === 202);
  ok(both.length > 0);
  const third = await start(world, owner, { all: true }, key);
  eq(third.status, 202);
  for (const { body } of both) eq(body.id, third.body.id);
  const other = await start(world, owner, { all: true, parallel: 2 }, key);
  deq([other.status, other.body.error.code], [409, "CONFLICT"]);
  const as = owner.token;
  const path = `/api/exec/web-01?command=uptime`;
  const single = await world.call("GET", path, { as, headers: key });
  deq([single.status, single.body.error.code], [409, "CONFLICT"]);
  const restart = await tool(world, "restart_agent", { id: "web-01" }, { as, headers: key });
  eq(toolError(restart).code, "CONFLICT");
  deq(sent(agents), [1, 1]);
});

Deno.test("fleet_commands.start: each command counts as a request, and those that a limit refuses fail with its error", async () => {
  const live = { ...NO_LIMITS.limits.live, requests_per_minute: 5 };
  const config = { ...NO_LIMITS, limits: { ...NO_LIMITS.limits, live } };
  await using world = await World.open({ config });
  const { owner, agents } = await makeFleet(world, 7);
  const { value } = await world.key(owner, AGENT_RIGHTS);
  const { body } = await start(world, { token: value }, { all: true });
  deq(await countsOf(world, owner, body.id), { succeeded: 5, failed: 2 });
  const { commands: [refused] } = await show(world, owner, body.id, "?status=failed");
  ok(refused.reason.startsWith("Reached the limit of 5 requests per minute for this API key."));
  deq(sent(agents), [1, 1, 1, 1, 1, 0, 0]);
});

Deno.test("fleet_commands.start: what a limit refuses counts for `stop_after_failures`", async () => {
  const live = { ...NO_LIMITS.limits.live, requests_per_minute: 5 };
  const config = { ...NO_LIMITS, limits: { ...NO_LIMITS.limits, live } };
  await using world = await World.open({ config });
  const { owner, agents } = await makeFleet(world, 7);
  const { value } = await world.key(owner, AGENT_RIGHTS);
  const { body } = await start(world, { token: value }, { all: true, stop_after_failures: 2 });
  deq(await countsOf(world, owner, body.id), { failed: 2, cancelled: 5 });
  deq(sent(agents), [0, 0, 0, 0, 0, 0, 0]);
});

Deno.test("fleet_commands.start: a crash in the middle repeats nothing, and the rest runs after the restart", async () => {
  const kv = await Deno.openKv(":memory:");
  const dead = await World.open({ kv: shared(kv) });
  const { owner, key, agents } = await makeFleet(dead, 6);
  silent(agents);
  const { body } = await start(dead, owner, { all: true, parallel: 2 });
  finishAll(agents[0]!);
  await dead.settle();
  deq(await countsOf(dead, owner, body.id), { succeeded: 1, running: 2, queued: 3 });
  // The process has crashed: nothing was stopped.
  await using world = await World.open({ kv, seed: 2 });
  deq(await countsOf(world, owner, body.id), { succeeded: 1, lost: 2, queued: 3 });
  const back = await Promise.all(
    agents.map(({ identity }) => ScriptedAgent.connect(world, key, { identity })),
  );
  await world.advance(2_000);
  const ended = await show(world, owner, body.id);
  deq([ended.status, await countsOf(world, owner, body.id)], ["failed", { succeeded: 4, lost: 2 }]);
  deq(agents.map((agent, at) => sent([agent])[0]! + sent([back[at]!])[0]!), [1, 1, 1, 1, 1, 1]);
});

Deno.test("fleet_commands.start: another instance goes on after the driving one's death, and repeats nothing", async () => {
  const { opened: kv } = openMemoryStore();
  const one = await World.open({ kv, sole: false });
  const two = await World.open({ kv, sole: false, seed: 2 });
  const { owner, agents } = await makeFleet(two, 6);
  silent(agents);
  const { body } = await start(one, owner, { all: true, parallel: 2 });
  await two.settle();
  deq(await countsOf(two, owner, body.id), { running: 2, queued: 4 });
  // The first one's clock stands still from here on, so it counts as dead. It wakes up in the middle.
  for (let n = 0; n < 4; n++) await two.advance(5_000);
  await one.advance(1_000);
  for (let n = 0; n < 3; n++) {
    for (const agent of agents) finishAll(agent);
    await two.advance(2_000);
  }
  const ended = await show(two, owner, body.id);
  deq([ended.status, await countsOf(two, owner, body.id)], ["succeeded", { succeeded: 6 }]);
  deq(sent(agents), [1, 1, 1, 1, 1, 1]);
  await two[Symbol.asyncDispose]();
  await one[Symbol.asyncDispose]();
});

Deno.test("fleet_commands.start: a failure during a takeover counts once for `stop_after_failures`", async () => {
  const { opened: kv } = openMemoryStore();
  let onCounted: (() => Promise<unknown>) | null = null;
  const list = <T>(selector: Deno.KvListSelector, options?: Deno.KvListOptions) => {
    const found = kv.list<T>(selector, options);
    if (!("prefix" in selector) || !selector.prefix.includes("commands.parent_status")) {
      return found;
    }
    const next = found.next.bind(found);
    found.next = async () => {
      const item = await next();
      const counted = item.done ? onCounted : null;
      if (counted !== null) onCounted = null;
      await counted?.();
      return item;
    };
    return found;
  };
  const one = await World.open({ kv, sole: false });
  const two = await World.open({ kv: overKv(kv, { list }), sole: false, seed: 2 });
  const { owner, agents } = await makeFleet(two, 4);
  silent(agents);
  const limits = { parallel: 2, stop_after_failures: 2 };
  const { body } = await start(one, owner, { all: true, ...limits });
  await two.settle();
  onCounted = () => {
    finishAll(agents[0]!, 1);
    return two.app.commands.waitFor(runsOf(agents[0]!)[0]!.command_id)!;
  };
  // The first one's clock stands still from here on, so it counts as dead.
  for (let n = 0; n < 4; n++) await two.advance(5_000);
  eq(onCounted, null);
  for (let n = 0; n < 3; n++) {
    for (const agent of agents.slice(1)) finishAll(agent);
    await two.advance(2_000);
  }
  deq(await countsOf(two, owner, body.id), { succeeded: 3, failed: 1 });
  await two[Symbol.asyncDispose]();
  await one[Symbol.asyncDispose]();
});

Deno.test("fleet_commands.start: a preparation that was cut off runs nothing, and its key is free again", async () => {
  const kv = await Deno.openKv(":memory:");
  const dead = await World.open({ kv: shared(kv) });
  const { owner, key, agents } = await makeFleet(dead, 3);
  const idempotency = { "idempotency-key": "k1" };
  // The relay stops before the commit that releases the commands.
  dead.app.limiter.takeForCommands = () => new Promise(() => {});
  dead.call("POST", "/api/v1/commands", {
    as: owner.token,
    body: { all: true, command: "uptime" },
    headers: idempotency,
  }).catch(() => {});
  await dead.settle();
  await using world = await World.open({ kv, seed: 2 });
  await world.settle();
  const { body: { commands } } = await world.call("GET", "/api/v1/commands", { as: owner.token });
  deq(commands.map(({ status }: { status: string }) => status), Array(3).fill("cancelled"));
  const [{ parent_id }] = commands;
  const cut = await show(world, owner, parent_id);
  deq([cut.status, cut.total, cut.stopped.reason], ["cancelled", 3, "relay_stopped"]);
  deq(sent(agents), [0, 0, 0]);
  const back = await Promise.all(
    agents.map(({ identity }) => ScriptedAgent.connect(world, key, { identity })),
  );
  const again = await start(world, owner, { all: true }, idempotency);
  deq(await countsOf(world, owner, again.body.id), { succeeded: 3 });
  deq(sent(back), [1, 1, 1]);
});

Deno.test("fleet_commands.get: a preparation that was cut off before its first command has not succeeded", () => {
  const stop = { reason: "relay_stopped", by: null, at_ms: 0 } as const;
  const ended = { status: "ended", stop, total: 0 } as const;
  eq(statusOf(ended, countsIn(new Map())), "cancelled");
});

Deno.test("fleet_commands: an AI client starts one, waits for its end and reads its commands", async () => {
  await using world = await World.open();
  const { owner } = await makeFleet(world, 2);
  const args = { labels: { env: "test" }, command: "uptime", wait: 10 };
  const started = await tool(world, "run_on_many", args, { as: owner.token });
  const { id, status, total } = started.body.result.structuredContent;
  deq([status, total], ["succeeded", 1]);
  const read = await tool(world, "get_fleet_command", { id, output: "true" }, {
    as: owner.token,
  });
  const [one] = read.body.result.structuredContent.commands;
  deq([one.agent_name, one.status, one.stdout], ["web-02", "succeeded", "done\n"]);
});

Deno.test("fleet_commands: in any history no command runs twice, and all totals are right", async () => {
  const seed = crypto.getRandomValues(new Uint16Array(1))[0]!;
  console.log(`fleet history seed ${seed}`);
  const dice = mulberry32(seed);
  const below = (n: number) => Math.floor(dice() * n);
  for (let history = 0; history < 5; history++) {
    const kv = await Deno.openKv(":memory:");
    let world = await World.open({ kv: shared(kv), seed: 1 });
    const { owner, key, agents: first } = await makeFleet(world, 5);
    const ids = first.map(({ id }) => id);
    let agents = [...first];
    const everyLink = [...first];
    const fleets: string[] = [];
    const connect = async (at: number) => {
      const { identity } = agents[at]!;
      const agent = await ScriptedAgent.connect(world, key, { identity });
      silent([agent]);
      everyLink.push(agent);
      agents = agents.with(at, agent);
    };
    const post = async (path: string) => {
      const { status } = await world.call("POST", path, { as: owner.token, body: {} });
      ok([200, 409].includes(status), `${path} answered ${status}`);
    };
    silent(agents);
    const steps: (() => Promise<unknown>)[] = [
      async () => {
        const stop_after_failures = dice() < 0.3 ? 1 + below(2) : undefined;
        const parallel = 1 + below(4);
        const { status, body } = await start(world, owner, {
          all: true,
          parallel,
          stop_after_failures,
        });
        eq(status, 202);
        fleets.push(body.id);
      },
      async () =>
        fleets.length > 0 && await post(`/api/v1/commands/${fleets[below(fleets.length)]}/cancel`),
      async () => {
        const { body } = await world.call("GET", "/api/v1/commands", { as: owner.token });
        const one = body.commands[below(body.commands.length)];
        if (one?.status === "queued") {
          await post(`/api/v1/agents/${one.agent_id}/commands/${one.command_id}/cancel`);
        }
      },
      () => Promise.resolve(agents[below(5)]!.drop()),
      () => connect(below(5)),
      () => world.advance(1_000 + below(20_000)),
      async () => {
        // The relay crashes and starts again.
        const nowMs = world.clock.nowMs;
        world = await World.open({ kv: shared(kv), seed: 2 + fleets.length + everyLink.length });
        world.clock.nowMs = Math.max(world.clock.nowMs, nowMs);
        for (let at = 0; at < 5; at++) await connect(at);
      },
      ...Array.from(
        { length: 6 },
        () => () => Promise.resolve(finishAll(agents[below(5)]!, below(3) === 0 ? 1 : 0)),
      ),
    ];
    for (let step = 0; step < 40; step++) {
      await steps[below(steps.length)]!();
      await world.settle();
    }
    for (let at = 0; at < 5; at++) await connect(at);
    for (let round = 0; round < 40; round++) {
      for (const agent of agents) finishAll(agent);
      await world.advance(2_000);
    }
    const runs = everyLink.flatMap((agent) => runsOf(agent).map(({ command_id }) => command_id));
    eq(new Set(runs).size, runs.length, `seed ${seed}`);
    for (const id of fleets) {
      const fleet = await show(world, owner, id);
      ok(fleet.status !== "running", `seed ${seed}: ${id} ${JSON.stringify(fleet.counts)}`);
      await countsOf(world, owner, id);
      deq(fleet.commands.map(({ agent_id }: { agent_id: string }) => agent_id).sort(), ids.sort());
      for (const { command_id, status } of fleet.commands) {
        if (status === "succeeded") ok(runs.includes(command_id), `seed ${seed}: ${command_id}`);
      }
    }
    await world[Symbol.asyncDispose]();
  }
});
