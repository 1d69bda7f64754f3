import { deepStrictEqual as deq, rejects, strictEqual as eq } from "node:assert/strict";
import { z } from "zod";
import { Accepted } from "../../core/identity/accepted.ts";
import type { RequestInfo } from "../../core/identity/identity.ts";
import { Fault } from "../../core/fault/fault.ts";
import { idempotencyRecords } from "../../kv/records/idempotency.ts";
import { callOnce as callWithKey } from "../../routes/call/once.ts";
import { type Route, route } from "../../routes/call/route.ts";
import { eventsOf, linkAgent } from "../support/linked_agent.ts";
import { overKv } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { type Json, tool, toolError } from "./client.ts";

const keyed = (key: string) => ({ meta: { "relay/idempotencyKey": key } });

const INFO: RequestInfo = {
  id: "req_1",
  trace: null,
  address: "192.0.2.1",
  origin: "http://localhost",
  idempotencyKey: null,
  lastEventId: null,
  ingestToken: null,
  telegramSecret: null,
  gitHook: {
    event: null,
    delivery: null,
    hubSignature: null,
    giteaSignature: null,
    gitlabToken: null,
    webhookId: null,
    webhookTimestamp: null,
    webhookSignature: null,
  },
  cookie: () => null,
  forwarded: false,
  prefetch: false,
};

/** A route of several commits that does what it is told, and how often it did. */
function steps(act: (turn: number) => unknown) {
  const runs = { count: 0 };
  const declared = route({
    id: "test.steps",
    method: "POST",
    path: "/mcp#test_steps",
    summary: "A test",
    access: { signedIn: true },
    effect: "steps",
    audit: { none: "a test" },
    body: z.strictObject({ text: z.string() }),
    success: { status: 200, body: z.any() },
    faults: [],
    tool: { name: "test_steps", destructive: true },
    handle: () => act(++runs.count) as Json,
  });
  return { route: declared, runs };
}

/** Calls a route as a tool call with a key does. */
async function callOnce(
  world: World,
  { token }: Account,
  declared: Route,
  key = "k",
  args: Json = { text: "x" },
): Promise<Json> {
  const { app } = world;
  const actor = await app.authenticator.authenticate(token, "live");
  const input = { params: {}, query: {}, body: () => args, accept: "application/json" };
  const request = INFO;
  const called = { relay: app, route: declared, actor, request, input, key };
  return await callWithKey(args, called);
}

const refuses = (promise: Promise<unknown>, code: string, message = /./) =>
  rejects(promise, (error) => {
    eq((error as Fault).code, code, String(error));
    return message.test((error as Fault).message);
  });

Deno.test("once: a tool of several commits runs once under a key, also for simultaneous calls", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const gate = Promise.withResolvers<void>();
  const { route, runs } = steps(async (turn) => {
    await gate.promise;
    return { turn };
  });
  const twins = Array.from({ length: 8 }, () => callOnce(world, owner, route));
  await world.settle();
  await refuses(callOnce(world, owner, route, "k", { text: "y" }), "CONFLICT", /another call/);
  gate.resolve();
  deq(await Promise.all(twins), Array(8).fill({ turn: 1 }));
  deq(await callOnce(world, owner, route), { turn: 1 });
  eq(runs.count, 1);
  deq(await callOnce(world, owner, route, "k2"), { turn: 2 });
});

Deno.test("once: a repetition gets the same 202 or the same fault", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const waiting = steps(() => new Accepted({ id: "cmd_1" }));
  for (let n = 0; n < 2; n++) {
    const said = await callOnce(world, owner, waiting.route, "accepted");
    eq(said instanceof Accepted, true);
    deq(said.value, { id: "cmd_1" });
  }
  const lost = steps(() => {
    throw new Fault("COMMAND_LOST", "It is lost.", { command_id: "cmd_2" });
  });
  for (let n = 0; n < 2; n++) {
    await rejects(callOnce(world, owner, lost.route, "lost"), (error: Fault) => {
      deq([error.code, error.message, error.details.command_id], [
        "COMMAND_LOST",
        "It is lost.",
        "cmd_2",
      ]);
      return true;
    });
  }
  deq([waiting.runs.count, lost.runs.count], [1, 1]);
});

Deno.test("once: a refused call gives its key back, to a simultaneous and to a later one", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (const code of ["CONFLICT", "UNAVAILABLE"] as const) {
    const { route, runs } = steps((turn) => {
      if (turn < 3) throw new Fault(code, "Not now.");
      return { turn };
    });
    const twins = [callOnce(world, owner, route, code), callOnce(world, owner, route, code)];
    await Promise.all(twins.map((twin) => refuses(twin, code, /Not now/)));
    deq(await callOnce(world, owner, route, code), { turn: 3 });
    eq(runs.count, 3);
  }
});

Deno.test("once: a repetition that read the record before the call's end gets its final answer", async () => {
  const engine = await Deno.openKv(":memory:");
  let hold: ((entry: Deno.KvEntryMaybe<unknown>) => Promise<void>) | null = null;
  const get = async (key: Deno.KvKey) => {
    const entry = await engine.get(key);
    if (key.includes(idempotencyRecords.name) && entry.value !== null) await hold?.(entry);
    return entry;
  };
  await using world = await World.open({ kv: overKv(engine, { get: get as Deno.Kv["get"] }) });
  const owner = await world.signUp();
  const begun = Promise.withResolvers<void>(), refuse = Promise.withResolvers<void>();
  const { route } = steps((turn) => {
    if (turn > 1) return { turn };
    begun.resolve();
    return refuse.promise;
  });
  const first = refuses(callOnce(world, owner, route), "CONFLICT", /Not now/);
  await begun.promise;
  const read = Promise.withResolvers<void>(), told = Promise.withResolvers<void>();
  hold = () => {
    hold = null;
    read.resolve();
    return told.promise;
  };
  const twin = callOnce(world, owner, route);
  await read.promise;
  refuse.reject(new Fault("CONFLICT", "Not now."));
  await first;
  told.resolve();
  deq(await twin, { turn: 2 });
});

Deno.test("once: an interrupted call is not repeated, and the refusal says so", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const cut = steps(() => {
    throw new TypeError("a bug, or the end of the process");
  });
  await rejects(callOnce(world, owner, cut.route), TypeError);
  const { route, runs } = steps(() => ({}));
  await refuses(callOnce(world, owner, route), "CONFLICT", /its outcome is unknown/);
  eq(runs.count, 0);
});

Deno.test("once: answers are sealed, and one of 40 KiB is kept whole", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const text = "é".repeat(20_000);
  const { route, runs } = steps(() => ({ text }));
  for (let n = 0; n < 2; n++) deq(await callOnce(world, owner, route), { text });
  const huge = steps(() => ({ text: text.repeat(2) }));
  await callOnce(world, owner, huge.route, "huge");
  await refuses(callOnce(world, owner, huge.route, "huge"), "CONFLICT", /too large/);
  deq([runs.count, huge.runs.count], [1, 1]);
  const tenant = { org: owner.org, space: "live" } as const;
  const { items } = await world.app.store.list(idempotencyRecords, tenant, { limit: 10 });
  for (const { id, sealed } of items) {
    if (sealed === null) continue;
    eq(sealed.includes("é"), false);
    deq(JSON.parse(world.app.sealer.open(sealed, id)), { text });
  }
});

Deno.test("once: a command's key is refused for another tool, and the other way round", async () => {
  await using world = await World.open();
  const { key, agent } = await linkAgent(world);
  const run = { agent_id: agent.id, command: "uptime" };
  const calls: [string, Json][] = [
    ["run_command", run],
    ["request_approval", run],
    ["restart_agent", { id: agent.id }],
    ["test_shield", {}],
  ];
  const options = (n: number) => ({ as: key.value, ...keyed(`k${n}`) });
  for (const [n, [name, args]] of calls.entries()) {
    if (name === "test_shield") continue; // it needs other rights
    await tool(world, name, args, options(n));
    for (const [other, otherArgs] of calls.slice(0, 3)) {
      if (other === name) continue;
      const error = toolError(await tool(world, other, otherArgs, options(n)));
      eq(error?.code, "CONFLICT", `${other} after ${name}`);
    }
  }
  eq(agent.received.filter(({ type }) => type === "restart").length, 1);
});

Deno.test("once: canary runs and cancellations are keyed like other changes", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  const as = owner.token;
  const first = await tool(world, "test_shield", {}, { as, ...keyed("canary") });
  deq((await tool(world, "test_shield", {}, { as, ...keyed("canary") })).body, first.body);
  eq((await eventsOf(world, owner, "shield")).length, 1);
  const held = { agent_id: agent.id, command: "uptime" };
  const { details } = toolError(await tool(world, "request_approval", held, { as }));
  const cancel = { id: agent.id, command_id: details.command_id };
  const cancelled = await tool(world, "cancel_command", cancel, { as, ...keyed("cancel") });
  eq(cancelled.body.result.structuredContent.status, "cancelled");
  const again = await tool(world, "cancel_command", cancel, { as, ...keyed("cancel") });
  deq(again.body, cancelled.body);
  eq(toolError(await tool(world, "cancel_command", cancel, { as })).code, "CONFLICT");
});
