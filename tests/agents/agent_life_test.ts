import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { Tenant } from "../../kv/store/collection.ts";
import { type AgentRecord, agents } from "../../kv/records/agent.ts";
import { CLOSE_CODES, closeByCode } from "../../core/protocol/close_codes.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { committing, overKv, shared } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { AGENT_RIGHTS, eventsOf, linkAgent } from "../support/linked_agent.ts";
import { setCount } from "../support/raw_rows.ts";

/** Changes an agent's record as another instance would. */
async function change(world: World, { org }: Account, id: string, to: Partial<AgentRecord>) {
  const tenant: Tenant = { org, space: "live" };
  await world.app.store.transact(async (tx) => {
    tx.put(agents, tenant, { ...(await tx.get(agents, tenant, id))!, ...to });
  });
}

const show = async (world: World, { token }: Account, id: string) =>
  (await world.call("GET", `/api/v1/agents/${id}`, { as: token })).body;

const endsOf = async (world: World, owner: Account, id: string) =>
  (await eventsOf(world, owner, id)).filter(({ event_type }) => event_type === "agent_disconnected")
    .map(({ details }) => details.reason);

Deno.test("link: an agent recorded as lost reconnects; a link with a successor does not", async () => {
  const cases: [Partial<AgentRecord>, string][] = [
    [{ instance: null, status: "offline" }, "unavailable"],
    [{ instance: "ins_other", link: 2 }, "replaced"],
    [{ instance: null, status: "offline", link: 2 }, "replaced"],
  ];
  for (const [to, name] of cases) {
    await using world = await World.open();
    const { owner, agent } = await linkAgent(world);
    await change(world, owner, agent.id, to);
    agent.send({ type: "heartbeat", status: "ok" });
    await world.settle();
    eq(closeByCode(agent.closed!.code)?.name, name);
    eq(closeByCode(agent.closed!.code)?.after, name === "replaced" ? "stop" : "retry");
    deq(await endsOf(world, owner, agent.id), []);
  }
});

Deno.test("agents: a disconnection that could not be recorded is recorded later", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  agent.drop();
  await world.settle();
  await change(world, owner, agent.id, { instance: world.app.instance, status: "online" });
  await world.advance(60_000);
  eq((await show(world, owner, agent.id)).status, "offline");
  deq(await endsOf(world, owner, agent.id), ["connection_lost", "relay_lost"]);
});

Deno.test("agents: a linked agent is never stale to its own relay", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  await change(world, owner, agent.id, { last_seen_ms: world.clock.nowMs - 120_000 });
  await world.advance(30_000);
  eq((await show(world, owner, agent.id)).status, "online");
});

Deno.test("agents: the ends of a crashed relay's links share commits", async () => {
  const kv = await Deno.openKv(":memory:");
  let commits = 0;
  const counted = committing(kv, (commit) => (commits++, commit()));
  await using world = await World.open({ kv: counted });
  const { owner, agent } = await linkAgent(world);
  const ids = Array.from({ length: 96 }, (_, n) => `agt_${String(n).padStart(3, "0")}`);
  const tenant: Tenant = { org: owner.org, space: "live" };
  for (const id of ids) {
    await world.app.store.transact(async (tx) => {
      const known = (await tx.get(agents, tenant, agent.id))!;
      const own = { id, name: id, public_key: id, instance: "ins_died", last_seen_ms: 0 };
      tx.insert(agents, tenant, { ...known, ...own });
    });
  }
  await world.settle();
  commits = 0;
  await world.running.housekeep();
  ok(commits < ids.length / 4, `${commits} commits`);
  for (const id of ids) eq((await show(world, owner, id)).status, "offline", id);
});

Deno.test("agents: an agent of a crashed relay is recorded as lost even if the last contact lies far in the future", async () => {
  const kv = await Deno.openKv(":memory:");
  const dead = await World.open({ kv: shared(kv) });
  const { owner, agent } = await linkAgent(dead);
  const ahead = dead.clock.nowMs + 365 * 24 * 60 * 60 * 1000;
  await change(dead, owner, agent.id, { last_seen_ms: ahead });
  await dead.settle();
  await using world = await World.open({ kv, seed: 2 });
  await world.advance(30_000);
  eq((await show(world, owner, agent.id)).status, "offline");
  deq(await endsOf(world, owner, agent.id), ["relay_lost"]);
});

Deno.test("stop: every link is closed and its end recorded before the store closes", async () => {
  const kv = await Deno.openKv(":memory:");
  let turns = 0;
  // With slow reads, an end that the stop does not await comes too late.
  const slow = overKv(shared(kv), {
    get: async (...args: Parameters<Deno.Kv["get"]>) => {
      for (let n = 0; n < turns; n++) await new Promise<void>((resolve) => setImmediate(resolve));
      return await kv.get(...args) as never;
    },
  });
  const first = await World.open({ kv: slow, sole: false });
  const { owner, key, agent } = await linkAgent(first);
  const said = Promise.withResolvers<void>();
  const late = await ScriptedAgent.open(first, key.value, {
    name: "late",
    hello: (hello) => {
      said.resolve();
      return hello;
    },
  });
  await said.promise;
  turns = 50;
  await first.running.stop();
  deq([agent.closed?.code, late.closed?.code], [1001, 1001]);
  deq(first.logged.filter(({ level }) => level === "error"), []);
  await using world = await World.open({ kv, seed: 2 });
  const { body } = await world.call("GET", "/api/agents", { as: owner.token });
  deq(
    body.agents.map(({ name, status }: { name: string; status: string }) => [name, status]),
    [["web-1", "offline"], ["late", "offline"]],
  );
  deq(await endsOf(world, owner, agent.id), ["going_away"]);
});

Deno.test("link: a link that is still registering closes with its key", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  const agent = await ScriptedAgent.open(world, key.value, { hello: () => null });
  await world.call("POST", `/api/v1/api-keys/${key.id}/revoke`, { as: owner.token });
  await world.settle();
  eq(agent.closed?.code, 4401);
});

Deno.test("heartbeat: an agent accepts 60 reports a minute, from all addresses together", async () => {
  await using world = await World.open();
  const { agent, key } = await linkAgent(world);
  const other = await ScriptedAgent.connect(world, key.value, { name: "web-2" });
  const report = (agent_id: string, n: number) =>
    world.call("POST", "/api/v1/heartbeat", {
      body: { agent_id, status: "ok" },
      from: `192.0.2.${n}`,
    });
  for (let n = 0; n < 60; n++) eq((await report(agent.id, n)).status, 202);
  const { status, body, headers } = await report(agent.id, 60);
  deq([status, body.error.details.scope, body.error.details.limit], [429, "agent", 60]);
  eq(headers.get("retry-after"), "60");
  eq((await report(other.id, 60)).status, 202);
  eq((await report("agt_missing", 60)).status, 404);
  await world.advance(60_000);
  eq((await report(agent.id, 60)).status, 202);
});

Deno.test("link: an agent that reconnects in a loop writes nothing more until the minute is over", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  const other = await world.key(owner, AGENT_RIGHTS);
  const identity = newIdentity();
  for (let n = 0; n < 60; n++) {
    const agent = await ScriptedAgent.connect(world, key.value, { identity });
    agent.drop();
    await world.settle();
  }
  const rows = (await world.trail(owner)).length;
  const refused = await ScriptedAgent.connect(world, key.value, { identity });
  eq(refused.closed?.code, CLOSE_CODES.too_many_frames.code);
  eq((await world.trail(owner)).length, rows);
  const another = await ScriptedAgent.connect(world, key.value);
  eq(another.closed, null);
  await world.advance(60_000);
  const back = await ScriptedAgent.connect(world, key.value, { identity });
  eq(back.closed, null);
  for (let n = 0; n < 70; n++) {
    const agent = await ScriptedAgent.connect(world, other.value, { identity });
    eq(agent.closed?.code, CLOSE_CODES[n < 59 ? "identity_refused" : "too_many_frames"].code);
  }
  const told = await world.call("GET", "/api/audit?event_type=agent_credential_refused&limit=200", {
    as: owner.token,
  });
  eq(told.body.events.length, 59);
});

Deno.test("link: refusals of one credential with changing agents are recorded 60 times a minute", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const post = async (path: string, body: unknown, as?: string) =>
    (await world.call("POST", `/api/devices/${path}`, { body, as })).body;
  const { pairing_code } = await post("pairing-codes", {}, owner.token);
  const { device_id, token } = await post("pair", { device_name: "d", pairing_code });
  const { credential } = await post("confirm", { device_id, token });
  await ScriptedAgent.connect(world, credential);
  for (let n = 0; n < 65; n++) {
    const agent = await ScriptedAgent.connect(world, credential);
    eq(agent.closed?.code, CLOSE_CODES.identity_refused.code);
  }
  const told = await world.call("GET", "/api/audit?event_type=agent_credential_refused&limit=200", {
    as: owner.token,
  });
  eq(told.body.events.length, 60);
});

Deno.test("link: a new agent beyond the limit of its space is refused with the reason, and known agents reconnect", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  const identity = newIdentity();
  const first = await ScriptedAgent.connect(world, key.value, { identity });
  const tenant = { org: owner.org, space: "live" } as const;
  await setCount(world.kv, agents, tenant, 10_000n);
  const rows = (await world.trail(owner)).length;
  const more = await ScriptedAgent.connect(world, key.value);
  eq(more.closed?.code, CLOSE_CODES.unavailable.code);
  match(more.closed!.reason, /already 10000 agents/);
  eq((await world.trail(owner)).length, rows);
  const again = await ScriptedAgent.connect(world, key.value, { identity });
  eq([again.closed, again.id].join(), [null, first.id].join());
  await setCount(world.kv, agents, tenant, 9_999n);
  eq((await ScriptedAgent.connect(world, key.value)).closed, null);
});
