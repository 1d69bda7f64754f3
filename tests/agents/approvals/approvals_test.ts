import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { users } from "../../../kv/records/user.ts";
import { ManualClock } from "../../support/clock.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { shared } from "../../support/kv.ts";
import { type Account, World } from "../../support/world.ts";
import { eventsOf, exec, linkAgent, type Linked, runsOf } from "../../support/linked_agent.ts";

const RISKY = "systemctl stop nginx";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Waiting extends Linked {
  readonly approver: Account;
  readonly pid: string;
  readonly commandId: string;
  /** A key, which outlives a JWT. */
  readonly reader: Account;
}

/** A command of the owner that waits for approval. */
async function blocked(world: World, settings: Record<string, unknown> = {}): Promise<Waiting> {
  const here = await linkAgent(world);
  const approver = await world.join(here.owner, ["operator"]);
  if (Object.keys(settings).length > 0) await change(world, here.owner, { approvals: settings });
  const { status, body } = await exec(world, here, RISKY);
  eq(status, 202);
  eq(body.status, "pending_approval");
  const key = await world.key(here.owner, ["agents:read", "approvals:read", "audit:read"]);
  const reader = { ...here.owner, token: key.value };
  return { ...here, reader, approver, pid: body.approval_id, commandId: body.command_id };
}

const change = (world: World, { token }: Account, body: unknown) =>
  world.call("PATCH", "/api/shield/settings", { as: token, body });

const decide = (world: World, how: "approve" | "reject", pid: string, who: Account, body = {}) =>
  world.call("POST", `/api/shield/${how}/${pid}`, { as: who.token, body });

async function command(world: World, { reader, agent, commandId }: Waiting) {
  await world.settle();
  const path = `/api/v1/agents/${agent.id}/commands/${commandId}`;
  return (await world.call("GET", path, { as: reader.token })).body;
}

/** Removes a person's rights. */
async function demote(world: World, { org, userId }: Account): Promise<void> {
  const tenant = { org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    const user = await tx.get(users, tenant, userId);
    tx.put(users, tenant, { ...user!, roles: ["viewer"] });
  });
}

const approval = async (world: World, { reader, pid }: Waiting) =>
  (await world.call("GET", `/api/shield/approvals/${pid}`, { as: reader.token })).body;

Deno.test("approvals: an approved command runs once, and its record and events say why", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  deq(runsOf(here.agent), []);
  const reason = { reason: "planned maintenance" };
  const { status, body } = await decide(world, "approve", here.pid, here.approver, reason);
  deq([status, body.status, body.decisions[0].user_id], [200, "approved", here.approver.userId]);
  deq((await command(world, here)).status, "succeeded");
  deq(runsOf(here.agent).map((run) => run.command), [RISKY]);
  const again = await decide(world, "approve", here.pid, here.approver);
  deq([again.status, again.body.error.details.status], [409, "approved"]);
  const [asked, resolved] = await eventsOf(world, here.reader, here.pid);
  deq([asked!.event_type, asked!.details.command_id], ["approval_requested", here.commandId]);
  deq(resolved!.details, {
    pid: here.pid,
    command_id: here.commandId,
    command: RISKY,
    requested_by: here.owner.userId,
    decision: "approved",
    decided_by: here.approver.userId,
    decided_at: "2030-01-01T00:00:00.000Z",
    reason: "planned maintenance",
  });
});

Deno.test("approvals: a rejected command never runs", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  eq((await decide(world, "reject", here.pid, here.approver)).body.status, "rejected");
  eq((await decide(world, "approve", here.pid, here.approver)).status, 409);
  deq([(await command(world, here)).status, runsOf(here.agent)], ["rejected", []]);
});

Deno.test("approvals: nobody approves their own request by any credential, unless the organization allows it", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  const key = await world.key(here.owner, ["approvals:write"]);
  for (const as of [here.owner.token, key.value]) {
    const { status, body } = await world.call("POST", `/api/shield/approve/${here.pid}`, { as });
    deq([status, body.error.code], [403, "FORBIDDEN"]);
  }
  const other = await blocked(world, { self_approval: true });
  eq((await decide(world, "approve", other.pid, other.owner)).status, 200);
  eq((await command(world, other)).status, "succeeded");
});

Deno.test("approvals: a denied command has no request to approve", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  eq((await exec(world, here, "rm -rf /")).status, 403);
  const { body } = await world.call("GET", "/api/shield/approvals", { as: here.owner.token });
  deq(body.approvals, []);
});

Deno.test("approvals: the required number counts people who may still approve", async () => {
  await using world = await World.open();
  const here = await blocked(world, { required: 2 });
  const first = await decide(world, "approve", here.pid, here.approver);
  eq(first.body.status, "pending");
  const twice = await decide(world, "approve", here.pid, here.approver);
  deq([twice.status, twice.body.error.code], [409, "CONFLICT"]);
  const key = await world.key(here.approver, ["approvals:write"]).catch(() => null);
  eq(key, null, "an operator makes no keys");
  const second = await world.join(here.owner, ["operator"]);
  await demote(world, here.approver);
  eq((await decide(world, "approve", here.pid, second)).body.status, "pending");
  const third = await world.join(here.owner, ["admin"]);
  eq((await decide(world, "approve", here.pid, third)).body.status, "approved");
  eq((await command(world, here)).status, "succeeded");
});

Deno.test("approvals: only the named roles decide", async () => {
  await using world = await World.open();
  const here = await blocked(world, { roles: ["admin"] });
  eq((await decide(world, "approve", here.pid, here.approver)).status, 403);
  eq((await decide(world, "reject", here.pid, here.approver)).status, 403);
  const admin = await world.join(here.owner, ["admin"]);
  eq((await decide(world, "approve", here.pid, admin)).status, 200);
});

Deno.test("approvals: expiry is an outcome of its own", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  await world.advance(HOUR_MS - 1);
  eq((await approval(world, here)).status, "pending");
  world.clock.advance(1);
  eq((await approval(world, here)).status, "expired");
  await world.advance(60_000);
  deq([(await command(world, here)).status, runsOf(here.agent)], ["expired", []]);
  const [, resolved, ...more] = await eventsOf(world, here.reader, here.pid);
  deq([resolved!.details.decision, resolved!.details.decided_by, more], ["expired", null, []]);
});

Deno.test("approvals: changed settings and a deleted agent end pending requests", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  await change(world, here.owner, { approvals: { required: 3 } });
  eq((await decide(world, "approve", here.pid, here.approver)).status, 409);
  await world.settle();
  eq((await approval(world, here)).status, "expired");
  const other = await blocked(world);
  await world.call("DELETE", `/api/v1/agents/${other.agent.id}`, { as: other.owner.token });
  await world.settle();
  deq([(await approval(world, other)).status, (await approval(world, other)).reason], [
    "expired",
    "the agent was deleted",
  ]);
});

Deno.test("approvals: a command approved while its agent is away is sent when it connects, or given up", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  here.agent.drop();
  eq((await decide(world, "approve", here.pid, here.approver)).body.command_status, "queued");
  const again = await ScriptedAgent.connect(world, here.key.value, {
    identity: here.agent.identity,
  });
  eq((await command(world, here)).status, "succeeded");
  eq(runsOf(again).length, 1);
  const late = await blocked(world);
  late.agent.drop();
  await decide(world, "approve", late.pid, late.approver);
  await world.advance(10 * MINUTE_MS - 1);
  eq((await command(world, late)).status, "queued");
  await world.advance(MINUTE_MS);
  const ended = await command(world, late);
  deq([ended.status, ended.started_at], ["failed", null]);
  ok(ended.reason.includes("did not connect in time"));
});

Deno.test("approvals: a command approved while the clock was ahead is not sent long after", async () => {
  await using world = await World.open();
  const here = await blocked(world, { expires_seconds: 3600 });
  here.agent.drop();
  world.clock.nowMs += 40 * MINUTE_MS;
  eq((await decide(world, "approve", here.pid, here.approver)).body.command_status, "queued");
  world.clock.nowMs -= 40 * MINUTE_MS;
  const again = await ScriptedAgent.connect(world, here.key.value, {
    identity: here.agent.identity,
  });
  await world.advance(MINUTE_MS);
  deq([(await command(world, here)).status, runsOf(again)], ["failed", []]);
});

Deno.test("approvals: settings that change after the approval stop an unsent command", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  here.agent.drop();
  eq((await decide(world, "approve", here.pid, here.approver)).body.command_status, "queued");
  await change(world, here.owner, { policy: { thresholds: { approve: 20 } } });
  const again = await ScriptedAgent.connect(world, here.key.value, {
    identity: here.agent.identity,
  });
  deq([(await command(world, here)).status, runsOf(again)], ["failed", []]);
  const told = await eventsOf(world, here.reader, here.commandId);
  deq(told.map(({ event_type }) => event_type), ["command_failed", "approval_mismatch"]);
});

Deno.test("approvals: a request survives a restart of the relay", async () => {
  const kv = await Deno.openKv(":memory:");
  const clock = new ManualClock();
  const first = await World.open({ kv: shared(kv), clock });
  const here = await blocked(first);
  await first[Symbol.asyncDispose]();
  await using world = await World.open({ kv, clock, seed: 2 });
  eq((await decide(world, "approve", here.pid, here.approver)).status, 200);
  const agent = await ScriptedAgent.connect(world, here.key.value, {
    identity: here.agent.identity,
  });
  eq((await command(world, here)).status, "succeeded");
  eq(runsOf(agent).length, 1);
});

Deno.test("approvals: the caller withdraws a waiting command", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  const path = `/api/v1/agents/${here.agent.id}/commands/${here.commandId}/cancel`;
  const { status, body } = await world.call("POST", path, { as: here.owner.token });
  deq([status, body.status], [200, "cancelled"]);
  eq((await decide(world, "approve", here.pid, here.approver)).status, 409);
  deq(runsOf(here.agent), []);
});

Deno.test("approvals: two approvers at once send the command once", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  const other = await world.join(here.owner, ["operator"]);
  const answers = await Promise.all(
    [here.approver, other].map((who) => decide(world, "approve", here.pid, who)),
  );
  deq(answers.map(({ status }) => status).sort(), [200, 409]);
  eq((await command(world, here)).status, "succeeded");
  eq(runsOf(here.agent).length, 1);
});

Deno.test("approvals: requests of another organization are not found", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  const stranger = await world.signUp();
  for (const how of ["approve", "reject"] as const) {
    const theirs = await decide(world, how, here.pid, stranger);
    const none = await decide(world, how, "prc_none", stranger);
    deq([theirs.status, none.status], [404, 404]);
    eq(theirs.body.error.message, none.body.error.message);
  }
  eq((await approval(world, here)).status, "pending");
});

Deno.test("shield modes: observe and off let a command pass, for all agents or one", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const modes: [unknown, number][] = [
    [{ mode: "observe" }, 200],
    [{ mode: "enforce", agent_modes: { [here.agent.id]: "off" } }, 200],
    [{ agent_modes: {} }, 202],
  ];
  for (const [body, status] of modes) {
    eq((await change(world, here.owner, body)).status, 200);
    const answer = await exec(world, here, RISKY);
    eq(answer.status, status);
    if (status === 200) ok(answer.body.shield_result.explanation.startsWith("Not enforced"));
  }
});

Deno.test("approvals: a command that the shield denies now is neither approved nor sent", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  const policy = { rules: [{ id: "prod", match: { labels: { env: "prod" } }, verdict: "deny" }] };
  await change(world, here.owner, { policy });
  const ask = async () => (await exec(world, here, RISKY)).body.approval_id;
  const [first, second] = [await ask(), await ask()];
  here.agent.drop();
  eq((await decide(world, "approve", first, here.approver)).body.command_status, "queued");
  const labels = { env: "prod" };
  const { identity } = here.agent;
  const again = await ScriptedAgent.connect(world, here.key.value, { identity, labels });
  eq((await decide(world, "approve", second, here.approver)).status, 409);
  await world.settle();
  deq(runsOf(again), []);
});

Deno.test("approvals: a command that its asker may no longer run is neither approved nor sent", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  const asker = await world.join(here.owner, ["operator"]);
  const key = await world.key(here.owner, ["agents:write", "agents:read"]);
  const ask = async (token: string) =>
    (await exec(world, { ...here, owner: { ...here.owner, token } }, RISKY)).body.approval_id;
  const byPerson = [await ask(asker.token), await ask(asker.token)] as const;
  const byKey = [await ask(key.value), await ask(key.value)] as const;
  here.agent.drop();
  for (const [first] of [byPerson, byKey]) {
    eq((await decide(world, "approve", first, here.approver)).body.command_status, "queued");
  }
  await demote(world, asker);
  await world.call("DELETE", `/api/v1/api-keys/${key.id}`, { as: here.owner.token });
  for (const [, second] of [byPerson, byKey]) {
    eq((await decide(world, "approve", second, here.approver)).status, 409);
    eq((await decide(world, "reject", second, here.approver)).body.status, "rejected");
  }
  const { identity } = here.agent;
  const again = await ScriptedAgent.connect(world, here.key.value, { identity });
  await world.settle();
  deq(runsOf(again), []);
});

Deno.test("approvals: an approval by somebody who may no longer approve sends nothing", async () => {
  await using world = await World.open();
  const here = await blocked(world);
  here.agent.drop();
  const answer = await decide(world, "approve", here.pid, here.approver);
  eq(answer.body.command_status, "queued");
  await demote(world, here.approver);
  const { identity } = here.agent;
  const again = await ScriptedAgent.connect(world, here.key.value, { identity });
  await world.settle();
  deq(runsOf(again), []);
});

Deno.test("approvals: a request that needs more or other people now does not hold with fewer", async () => {
  for (const needs of [{ required: 2 }, { roles: ["admin"] }]) {
    await using world = await World.open();
    const here = await blocked(world);
    const match = { commands: ["systemctl"] };
    const prod = { ...match, labels: { env: "prod" } };
    const policy = {
      rules: [
        { id: "prod", match: prod, verdict: "approve", approvals: needs },
        { id: "any", match, verdict: "approve" },
      ],
    };
    eq((await change(world, here.owner, { policy })).status, 200);
    const { approval_id } = (await exec(world, here, RISKY)).body;
    const { identity } = here.agent;
    const labels = { env: "prod" };
    const again = await ScriptedAgent.connect(world, here.key.value, { identity, labels });
    const answer = await decide(world, "approve", approval_id, here.approver);
    eq(answer.status, 409, answer.text);
    await world.settle();
    deq(runsOf(again), []);
  }
});

Deno.test("approvals: a request is kept while it may wait, however short the retention of commands", async () => {
  await using world = await World.open({ config: { retention_days: { commands: 1 } } });
  const here = await blocked(world, { expires_seconds: 3 * 24 * 3600 });
  // Retention depends on the instant alone, so the clock may skip the days between.
  const passes = async (ms: number) => {
    world.clock.nowMs += ms - MINUTE_MS;
    await world.advance(MINUTE_MS); // in which the house is kept
  };
  await passes(2 * 24 * HOUR_MS);
  eq((await approval(world, here)).status, "pending");
  await passes(24 * HOUR_MS);
  eq((await approval(world, here)).status, "expired");
  eq((await command(world, here)).status, "expired");
});
