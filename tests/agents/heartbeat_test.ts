import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { sweepStaleAgents } from "../../core/agents/links/register.ts";
import { agents, REPORTED_STATUSES } from "../../kv/records/agent.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Account, World } from "../support/world.ts";
import { AGENT_RIGHTS, linkAgent } from "../support/linked_agent.ts";

const HEARTBEAT = "/api/v1/heartbeat";

const report = (world: World, agent_id: string, as?: string, more: Record<string, unknown> = {}) =>
  world.call("POST", HEARTBEAT, { as, body: { agent_id, status: "healthy", ...more } });

const show = async (world: World, { token }: Account, id: string) =>
  (await world.call("GET", `/api/v1/agents/${id}`, { as: token })).body;

/** An agent that has lost its link, and the key that registered it. */
async function lostAgent(world: World) {
  const here = await linkAgent(world);
  here.agent.drop();
  await world.settle();
  return here;
}

/** A device whose agent has registered. */
async function pairedAgent(world: World, owner: Account) {
  const code = await world.call("POST", "/api/devices/pairing-codes", { as: owner.token });
  const { pairing_code } = code.body;
  const { body } = await world.call("POST", "/api/devices/pair", {
    body: { device_name: "box", pairing_code },
  });
  const { device_id, token } = body;
  const confirmed = await world.call("POST", "/api/devices/confirm", {
    body: { device_id, token },
  });
  const credential: string = confirmed.body.credential;
  const agent = await ScriptedAgent.connect(world, credential);
  return { device_id: device_id as string, credential, agent };
}

Deno.test("heartbeat: accepts the status words of links and of monitoring, and ignores unknown fields", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  for (const status of REPORTED_STATUSES) {
    const answer = await report(world, agent.id, undefined, { status, uptime: 7, load: [1] });
    deq([answer.status, answer.body.status], [202, status]);
    eq((await show(world, owner, agent.id)).reported_status, status);
  }
  for (const status of ["fine", "", 1, null]) {
    eq((await report(world, agent.id, undefined, { status })).status, 400);
  }
});

Deno.test("heartbeat: with the agent's own key it counts as contact, but online needs a link", async () => {
  await using world = await World.open();
  const { owner, agent, key } = await lostAgent(world);
  const before = await show(world, owner, agent.id);
  await world.advance(5_000);
  const { status, body } = await report(world, agent.id, key.value, { status: "online" });
  const at = "2030-01-01T00:00:05.000Z";
  deq([status, body], [202, {
    agent_id: agent.id,
    status: "online",
    verified: true,
    received_at: at,
  }]);
  deq(await show(world, owner, agent.id), {
    ...before,
    reported_status: "online",
    last_seen_at: at,
  });
  eq(before.status, "offline");
});

Deno.test("heartbeat: what the agent itself reported stands for 5 minutes against reports by others", async () => {
  await using world = await World.open();
  const { owner, agent, key } = await lostAgent(world);
  const reported = async () => (await show(world, owner, agent.id)).reported_status;
  await report(world, agent.id, key.value, { status: "critical" });
  eq((await report(world, agent.id, undefined, { status: "healthy" })).status, 202);
  eq(await reported(), "critical");
  await world.advance(5 * 60_000 + 1);
  await report(world, agent.id, undefined, { status: "healthy" });
  eq(await reported(), "healthy");
});

Deno.test("heartbeat: no other credential makes it count as contact", async () => {
  await using world = await World.open();
  const { owner, agent, key } = await lostAgent(world);
  const other = await world.key(owner, AGENT_RIGHTS);
  const stranger = await world.signUp();
  const theirs = await world.key(stranger, AGENT_RIGHTS);
  const { last_seen_at } = await show(world, owner, agent.id);
  await world.advance(5_000);
  for (const as of [undefined, owner.token, other.value, theirs.value, "svc_live_typo"]) {
    const { status, body } = await report(world, agent.id, as);
    deq([status, body.verified], [202, false], as);
  }
  await world.call("POST", `/api/v1/api-keys/${key.id}/revoke`, { as: owner.token });
  eq((await report(world, agent.id, key.value)).body.verified, false);
  eq((await show(world, owner, agent.id)).last_seen_at, last_seen_at);
});

Deno.test("heartbeat: a device's credential reports for its own agent until the device is deleted", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { device_id, credential, agent } = await pairedAgent(world, owner);
  const other = await pairedAgent(world, owner);
  await world.advance(5_000);
  const at = "2030-01-01T00:00:05.000Z";
  eq((await report(world, agent.id, credential)).body.verified, true);
  eq((await show(world, owner, agent.id)).last_seen_at, at);
  const { body } = await world.call("GET", "/api/devices", { as: owner.token });
  const seen = body.devices.find(({ id }: { id: string }) => id === device_id).last_seen_at;
  eq(seen, at);
  eq((await report(world, other.agent.id, credential)).body.verified, false);
  for (const path of ["/api/v1/agents", "/api/account/info"]) {
    eq((await world.call("GET", path, { as: credential })).status, 401);
  }
  await world.call("DELETE", `/api/devices/${device_id}`, { as: owner.token });
  eq((await report(world, agent.id, credential)).body.verified, false);
});

Deno.test("heartbeat: reports of others do not use up the agent's limit, nor the agent's reports that of others", async () => {
  const plans = { enterprise: { requests_per_minute: 5 } };
  await using world = await World.open({ config: { plans } });
  const owner = await world.signUp();
  const { credential, agent } = await pairedAgent(world, owner);
  await world.advance(60_000);
  for (let n = 0; n < 60; n++) {
    const body = { agent_id: agent.id, status: "error" };
    eq((await world.call("POST", HEARTBEAT, { body, from: `192.0.2.${n}` })).status, 202);
  }
  eq((await report(world, agent.id)).status, 429);
  for (let n = 0; n < 60; n++) eq((await report(world, agent.id, credential)).status, 202);
  const { status, body } = await report(world, agent.id, credential);
  deq([status, body.error.details.scope, body.error.details.limit], [429, "agent", 60]);
  eq((await show(world, owner, agent.id)).reported_status, "healthy");
});

Deno.test("heartbeat: an agent that reports over HTTP while its link is dead is still recorded as lost", async () => {
  await using world = await World.open();
  const { owner, agent, key } = await linkAgent(world);
  const tenant = { org: owner.org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    tx.put(agents, tenant, { ...(await tx.get(agents, tenant, agent.id))!, instance: "ins_dead" });
  });
  world.clock.nowMs += 60_000;
  eq((await report(world, agent.id, key.value)).body.verified, true);
  await sweepStaleAgents(world.app);
  eq((await show(world, owner, agent.id)).status, "offline");
});
