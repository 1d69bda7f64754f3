import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { tool } from "../mcp/client.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { StreamClient } from "../support/stream.ts";
import { World } from "../support/world.ts";
import { exec, finish, linkAgent, makeHook, runsOf } from "../support/linked_agent.ts";
import { READ, take } from "./stream_fixtures.ts";

/** The newest row of a type in an organization's log. */
async function newestRow(world: World, as: string, type: string) {
  await world.settle();
  return (await world.call("GET", `/api/audit?event_type=${type}&limit=1`, { as })).body.events[0];
}

/** An agent that is linked with a paired device's credential. */
async function pairAgent(world: World, as: string) {
  const call = async (path: string, body: unknown, who?: string) =>
    (await world.call("POST", `/api/devices/${path}`, { as: who, body })).body;
  const { pairing_code } = await call("pairing-codes", {}, as);
  const { device_id, token } = await call("pair", { device_name: "kiosk", pairing_code });
  const { credential } = await call("confirm", { device_id, token });
  return { agent: await ScriptedAgent.connect(world, credential), deviceId: device_id as string };
}

Deno.test("events: agent_deleted names its agent in the webhook, on the stream and in the log", async () => {
  await using world = await World.open();
  const { owner: { token: as }, owner, agent } = await linkAgent(world);
  await makeHook(world, owner, ["agent_deleted"]);
  const reader = await world.key(owner, READ);
  const client = await StreamClient.open(world, reader.value, { query: "?types=agent_deleted" });
  await client.next();
  eq((await world.call("DELETE", `/api/v1/agents/${agent.id}`, { as })).status, 204);
  await world.settle();
  const [streamed] = await take(world, client, 1);
  const sent = JSON.parse(String(world.network.sent.at(-1)!.body));
  const row = await newestRow(world, as, "agent_deleted");
  deq([sent.event_type, sent.agent_id, streamed!.data.event_type, streamed!.data.agent_id], [
    "agent_deleted",
    agent.id,
    "agent_deleted",
    agent.id,
  ]);
  eq(row.agent_id, agent.id);
  await client.cut();
});

Deno.test("events: a restart, a lost agent's notice, a request for approval and a deleted device name the agent", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const { owner, agent } = here;
  await world.join(owner, ["operator"]);
  const as = owner.token;
  await world.call("POST", `/api/v1/agents/${agent.id}/restart`, { as, body: {} });
  eq((await newestRow(world, as, "agent_restart_requested")).agent_id, agent.id);
  eq((await exec(world, here, "systemctl stop nginx")).status, 202);
  const told = await newestRow(world, as, "notification_sent");
  deq([told.details.type, told.agent_id], ["approval_requested", agent.id]);
  agent.drop();
  await world.advance(61_000);
  const lost = await newestRow(world, as, "notification_sent");
  deq([lost.details.type, lost.agent_id], ["agent_lost", agent.id]);
  const { agent: paired, deviceId } = await pairAgent(world, as);
  eq((await world.call("DELETE", `/api/devices/${deviceId}`, { as })).status, 204);
  eq((await newestRow(world, as, "device_deleted")).agent_id, paired.id);
});

Deno.test("commands: every refusal about a command names it in details.command_id", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const { owner, agent } = here;
  const colleague = await world.join(owner, ["admin"]);
  const as = owner.token;
  const idOf = async (asked: ReturnType<World["call"]>, status: number) => {
    const answer = await asked;
    eq(answer.status, status, answer.text);
    return answer.body.error.details.command_id;
  };
  const decide = (how: string, pid: string, who = as) =>
    world.call("POST", `/api/shield/${how}/${pid}`, { as: who, body: {} });

  const { body: held } = await exec(world, here, "systemctl stop nginx");
  eq(await idOf(decide("approve", held.approval_id), 403), held.command_id);
  eq((await decide("reject", held.approval_id, colleague.token)).status, 200);
  eq(await idOf(decide("approve", held.approval_id, colleague.token), 409), held.command_id);
  const cancel = `/api/v1/agents/${agent.id}/commands/${held.command_id}/cancel`;
  eq(await idOf(world.call("POST", cancel, { as, body: {} }), 409), held.command_id);

  const { body: outdated } = await exec(world, here, "systemctl stop nginx");
  const approvals = { required: 2 };
  const settings = { as, body: { approvals } };
  eq((await world.call("PATCH", "/api/shield/settings", settings)).status, 200);
  await world.settle();
  eq(
    await idOf(decide("approve", outdated.approval_id, colleague.token), 409),
    outdated.command_id,
  );

  const { body: twice } = await exec(world, here, "systemctl stop nginx");
  eq((await decide("approve", twice.approval_id, colleague.token)).status, 200);
  eq(await idOf(decide("approve", twice.approval_id, colleague.token), 409), twice.command_id);

  agent.script = () => "silent";
  const asked = exec(world, here, "make", { idempotencyKey: "one" });
  await world.settle();
  const { command_id } = runsOf(agent).at(-1)!;
  finish(agent, command_id);
  await asked;
  eq(await idOf(exec(world, here, "make it", { idempotencyKey: "one" }), 409), command_id);
  const meta = { "relay/idempotencyKey": "one" };
  const reply = await tool(world, "restart_agent", { id: agent.id }, { as, meta });
  const fault = reply.body.result._meta["relay/error"];
  deq([fault.code, fault.details.command_id], ["CONFLICT", command_id]);
});
