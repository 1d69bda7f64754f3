import { hash } from "node:crypto";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { commands } from "../../../kv/records/command.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { AGENT_RIGHTS, eventsOf, finish, runsOf } from "../../support/linked_agent.ts";
import { type Answer, World } from "../../support/world.ts";
import { countsOf, finishAll, makeFleet, sent, show, silent, start } from "./fleet_fixtures.ts";

/** Needs an approval. */
const HELD = "rm /tmp/../etc/hosts";

Deno.test("fleet_commands.start: each agent runs the command once, as a command of its own with its event", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 5);
  agents[1]!.script = () => ({ stderr: "no\n", exit_code: 3 });
  const { status, body } = await start(world, owner, { all: true, wait: 10 });
  eq(status, 202);
  const shown = await show(world, owner, body.id, "?output=true");
  eq(shown.status, "failed");
  deq(await countsOf(world, owner, body.id), { succeeded: 4, failed: 1 });
  deq(sent(agents), [1, 1, 1, 1, 1]);
  deq(shown.commands.map((one: Answer["body"]) => one.agent_name).sort(), [
    "web-01",
    "web-02",
    "web-03",
    "web-04",
    "web-05",
  ]);
  const failed = shown.commands.find(({ status }: Answer["body"]) => status === "failed");
  deq([failed.agent_id, failed.exit_code, failed.stderr], [agents[1]!.id, 3, "no\n"]);
  const path = `/api/v1/agents/web-02/commands/${failed.command_id}`;
  const own = (await world.call("GET", path, { as: owner.token })).body;
  deq([own.parent_id, own.stderr, own.status], [body.id, "no\n", "failed"]);
  const listed = await world.call("GET", `/api/v1/commands?parent_id=${body.id}`, {
    as: owner.token,
  });
  eq(listed.body.commands.length, 5);
  const [event] = await eventsOf(world, owner, failed.command_id);
  deq([event!.event_type, event!.details.parent_id], ["command_executed", body.id]);
  const [started, ended] = await eventsOf(world, owner, body.id);
  deq([started!.event_type, ended!.event_type], ["fleet_command_started", "fleet_command_ended"]);
  deq(ended!.details, { agents: 5, counts: { failed: 1, succeeded: 4 }, stopped: null });
});

Deno.test("fleet_commands.start: at most `parallel` commands run at once, and all run", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 7);
  silent(agents);
  const { body } = await start(world, owner, { all: true, parallel: 3 });
  for (const running of [3, 3, 1]) {
    eq((await countsOf(world, owner, body.id)).running, running);
    for (const agent of agents) finishAll(agent);
    await world.settle();
  }
  deq(await countsOf(world, owner, body.id), { succeeded: 7 });
  eq((await show(world, owner, body.id)).status, "succeeded");
  deq(sent(agents), [1, 1, 1, 1, 1, 1, 1]);
});

Deno.test("fleet_commands.start: selects by name, label or all within the space, and names what is missing", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 4);
  const other = await makeFleet(world, 1);
  const cases: [Record<string, unknown>, number[]][] = [
    [{ names: ["web-02", agents[3]!.id, "web-02"] }, [0, 1, 0, 1]],
    [{ labels: { env: "test" } }, [0, 2, 0, 2]],
    [{ all: true }, [1, 3, 1, 3]],
  ];
  for (const [selector, runs] of cases) {
    eq((await start(world, owner, selector)).status, 202);
    deq(sent(agents), runs);
  }
  eq(sent(other.agents)[0], 0);
  const refused: [Record<string, unknown>, number, string][] = [
    [{ names: ["web-01", "web-99"] }, 404, 'There is no agent "web-99".'],
    [{ names: [other.agents[0]!.id] }, 404, `There is no agent "${other.agents[0]!.id}".`],
    [{ labels: { env: "none" } }, 404, "No agent matches the selection."],
    [{}, 400, "only one of the three"],
    [{ labels: {} }, 400, "must hold 1 to 32 labels"],
    [{ all: true, names: ["web-01"] }, 400, "only one of the three"],
    [{ all: true, parallel: 201 }, 400, "body.parallel"],
    [{ all: true, parallel: 0 }, 400, "body.parallel"],
  ];
  for (const [body, status, message] of refused) {
    const answer = await start(world, owner, body);
    eq(answer.status, status);
    ok(answer.body.error.message.includes(message), answer.body.error.message);
  }
  deq(sent(agents), [1, 3, 1, 3]);
});

Deno.test("fleet_commands: who may only read sees it and starts nothing; other organizations do not find it", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 2);
  const { body } = await start(world, owner, { all: true });
  const viewer = await world.join(owner, ["viewer"]);
  eq((await show(world, viewer, body.id)).counts.succeeded, 2);
  eq((await start(world, viewer, { all: true })).status, 403);
  const cancel = `/api/v1/commands/${body.id}/cancel`;
  eq((await world.call("POST", cancel, { as: viewer.token, body: {} })).status, 403);
  const stranger = await world.signUp();
  for (const id of [body.id, "flt_missing"]) {
    const path = `/api/v1/commands/${id}`;
    const read = await world.call("GET", path, { as: stranger.token });
    const cancelled = await world.call("POST", `${path}/cancel`, { as: stranger.token, body: {} });
    deq([read.status, cancelled.status], [404, 404]);
  }
  const filtered = await world.call("GET", `/api/v1/commands?parent_id=${body.id}`, {
    as: stranger.token,
  });
  deq(filtered.body.commands, []);
  deq(sent(agents), [1, 1]);
});

Deno.test("fleet_commands.cancel: waiting commands never start, and running ones are asked to end", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 5);
  silent(agents);
  const { body } = await start(world, owner, { all: true, parallel: 2 });
  const path = `/api/v1/commands/${body.id}/cancel`;
  eq((await world.call("POST", path, { as: owner.token, body: {} })).status, 200);
  await world.settle();
  deq(await countsOf(world, owner, body.id), { running: 2, cancelled: 3 });
  const asked = agents.filter(({ received }) => received.some(({ type }) => type === "cancel"));
  eq(asked.length, 2);
  for (const agent of asked) {
    const { command_id } = runsOf(agent)[0]!;
    finish(agent, command_id, { reason: "cancelled", exit_code: null, signal: "SIGTERM" });
  }
  await world.settle();
  const ended = await show(world, owner, body.id);
  deq([ended.status, ended.counts.cancelled], ["cancelled", 5]);
  deq([ended.stopped.reason, ended.stopped.by], ["cancelled", owner.userId]);
  eq(sent(agents).reduce((sum, n) => sum + n, 0), 2);
  const again = await world.call("POST", path, { as: owner.token, body: {} });
  deq([again.status, again.body.error.code], [409, "CONFLICT"]);
  const waiting = ended.commands.find(({ started_at }: Answer["body"]) => started_at === null);
  const [event] = await eventsOf(world, owner, waiting.command_id);
  deq([event!.event_type, event!.details.cancelled_by], ["command_cancelled", owner.userId]);
});

Deno.test("fleet_commands.start: a single waiting command can be cancelled, and the others go on", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 3);
  silent(agents);
  const { body } = await start(world, owner, { all: true, parallel: 1 });
  const { commands } = await show(world, owner, body.id, "?status=queued");
  const [{ agent_id, command_id }] = commands;
  const path = `/api/v1/agents/${agent_id}/commands/${command_id}/cancel`;
  const { body: one } = await world.call("POST", path, { as: owner.token, body: {} });
  eq(one.status, "cancelled");
  for (let n = 0; n < 2; n++) {
    for (const agent of agents) finishAll(agent);
    await world.settle();
  }
  deq(await countsOf(world, owner, body.id), { succeeded: 2, cancelled: 1 });
  eq((await show(world, owner, body.id)).status, "failed");
});

Deno.test("fleet_commands.start: after `stop_after_failures` failures no further command starts; running ones go on", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 6);
  silent(agents);
  const { body } = await start(world, owner, { all: true, parallel: 3, stop_after_failures: 2 });
  finishAll(agents[0]!, 1);
  await world.settle();
  deq(await countsOf(world, owner, body.id), { failed: 1, running: 3, queued: 2 });
  finishAll(agents[1]!, 1);
  await world.settle();
  deq(await countsOf(world, owner, body.id), { failed: 2, running: 2, cancelled: 2 });
  for (const agent of agents) finishAll(agent);
  await world.settle();
  const ended = await show(world, owner, body.id);
  deq([ended.status, ended.stopped.reason], ["failed", "failures"]);
  deq(await countsOf(world, owner, body.id), { failed: 2, succeeded: 2, cancelled: 2 });
  deq(sent(agents), [1, 1, 1, 1, 0, 0]);
});

Deno.test("fleet_commands.start: one approval releases all held commands, for exactly these agents and bytes", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 3);
  const admin = await world.join(owner, ["admin"]);
  const { body } = await start(world, owner, { all: true, command: HELD, parallel: 2 });
  deq(await countsOf(world, owner, body.id), { pending_approval: 3 });
  const [pid] = body.approvals;
  const { body: approval } = await world.call("GET", `/api/shield/approvals/${pid}`, {
    as: admin.token,
  });
  deq([approval.command_id, approval.agent_id, approval.command], [body.id, null, HELD]);
  const ids = agents.map(({ id }) => id).sort();
  deq(approval.agents, { count: 3, sha256: hash("sha256", ids.join("\n")) });
  const tenant = { org: owner.org, space: "live" } as const;
  // Somebody changes a held command in the store: one gets another agent, one other bytes.
  const stranger = await ScriptedAgent.connect(
    world,
    (await world.key(owner, AGENT_RIGHTS)).value,
    { name: "db-1" },
  );
  const { commands: held } = await show(world, owner, body.id);
  await world.app.store.transact(async (tx) => {
    const first = (await tx.get(commands, tenant, held[0].command_id))!;
    const second = (await tx.get(commands, tenant, held[1].command_id))!;
    tx.put(commands, tenant, { ...first, agent_id: stranger.id });
    tx.put(commands, tenant, { ...second, command: "rm -rf /" });
  });
  const own = await world.call("POST", `/api/shield/approve/${pid}`, { as: owner.token });
  eq(own.status, 403);
  const decided = await world.call("POST", `/api/shield/approve/${pid}`, { as: admin.token });
  eq(decided.status, 200);
  await world.settle();
  deq(await countsOf(world, owner, body.id), { succeeded: 1, failed: 2 });
  const untouched = agents.filter(({ id }) => id === held[2].agent_id);
  deq(sent(untouched), [1]);
  eq(sent([...agents, stranger]).reduce((sum, n) => sum + n, 0), 1);
  for (const { command_id } of held.slice(0, 2)) {
    const types = (await eventsOf(world, owner, command_id)).map(({ event_type }) => event_type);
    deq(types.sort(), ["approval_mismatch", "command_failed"]);
  }
});

Deno.test("fleet_commands.start: a rejection, an expiry and a cancel end all held commands, and nothing is sent", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 3);
  const admin = await world.join(owner, ["admin"]);
  const settings = { approvals: { expires_seconds: 300 } };
  await world.call("PATCH", "/api/shield/settings", { as: owner.token, body: settings });
  const hold = async () => (await start(world, owner, { all: true, command: HELD })).body;
  const rejected = await hold();
  const reject = `/api/shield/reject/${rejected.approvals[0]}`;
  eq((await world.call("POST", reject, { as: admin.token, body: { reason: "no" } })).status, 200);
  await world.settle();
  deq(await countsOf(world, owner, rejected.id), { rejected: 3 });
  eq((await show(world, owner, rejected.id)).status, "failed");
  const cancelled = await hold();
  const path = `/api/v1/commands/${cancelled.id}/cancel`;
  eq((await world.call("POST", path, { as: owner.token, body: {} })).status, 200);
  await world.settle();
  deq(await countsOf(world, owner, cancelled.id), { cancelled: 3 });
  const pid = cancelled.approvals[0];
  const late = await world.call("POST", `/api/shield/approve/${pid}`, { as: admin.token });
  eq(late.status, 409);
  const alone = await hold();
  for (const { agent_id, command_id } of (await show(world, owner, alone.id)).commands) {
    const one = `/api/v1/agents/${agent_id}/commands/${command_id}/cancel`;
    eq((await world.call("POST", one, { as: owner.token, body: {} })).status, 200);
  }
  await world.settle();
  eq((await show(world, owner, alone.id)).status, "failed");
  const { body: idle } = await world.call("GET", `/api/shield/approvals/${alone.approvals[0]}`, {
    as: admin.token,
  });
  deq([idle.status, idle.reason], ["expired", "its commands were cancelled"]);
  const expired = await hold();
  await world.advance(330_000);
  deq(await countsOf(world, owner, expired.id), { expired: 3 });
  const waiting = await world.call("GET", "/api/shield/approvals?status=pending", {
    as: admin.token,
  });
  eq(waiting.body.pagination.total, 0);
  deq(sent(agents), [0, 0, 0]);
});

Deno.test("fleet_commands.start: the shield judges each agent by its own policies", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 4);
  const match = { commands: ["uptime"], labels: { env: "staging" } };
  const set = await world.call("PATCH", "/api/shield/settings", {
    as: owner.token,
    body: { policy: { rules: [{ id: "no", verdict: "deny", match }] } },
  });
  eq(set.status, 200, set.text);
  const { body } = await start(world, owner, { all: true });
  deq(await countsOf(world, owner, body.id), { denied: 2, succeeded: 2 });
  deq(sent(agents), [0, 1, 0, 1]);
});

Deno.test("fleet_commands.start: what changed while a command waited counts when its turn comes", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 3);
  const operator = await world.join(owner, ["operator"]);
  silent(agents);
  const judged = await start(world, owner, { names: ["web-01", "web-02"], parallel: 1 });
  const asked = await start(world, operator, { names: ["web-01", "web-03"], parallel: 1 });
  await world.call("PATCH", "/api/shield/settings", {
    as: owner.token,
    body: { policy: { rules: [{ id: "no", match: { commands: ["uptime"] }, verdict: "deny" }] } },
  });
  const revoked = await world.call("POST", "/api/v1/roles/operator/revoke", {
    as: owner.token,
    body: { user_id: operator.userId },
  });
  ok(revoked.status < 300, revoked.text);
  finishAll(agents[0]!);
  await world.settle();
  for (
    const [{ body: { id } }, reason] of [
      [judged, "the shield now denies it; ask for it again"],
      [asked, "its requester may no longer run it; ask for it again"],
    ] as const
  ) {
    deq(await countsOf(world, owner, id), { succeeded: 1, failed: 1 });
    const { commands: [failed] } = await show(world, owner, id, "?status=failed");
    eq(failed.reason, reason);
  }
  deq(sent(agents), [2, 0, 0]);
});
