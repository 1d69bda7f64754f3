import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { AGENT_RIGHTS, linkAgent, type Linked, runsOf } from "../support/linked_agent.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { shared } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { type Json, type Reply, rpc, tool, toolError } from "./client.ts";

const RISKY = "systemctl stop nginx";
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const ASKABLE = { elicitation: {} };

interface Here extends Linked {
  readonly approver: Account;
  /** Runs the command as a client that can do this. */
  readonly run: (capabilities?: Json, more?: Json) => Promise<Reply>;
  readonly args: Json;
}

async function furnish(world: World): Promise<Here> {
  const linked = await linkAgent(world);
  const approver = await world.join(linked.owner, ["operator"]);
  const args = { agent_id: linked.agent.id, command: RISKY };
  const run = (capabilities: Json = {}, more: Json = {}) =>
    rpc(world, "tools/call", { name: "run_command", arguments: args, ...more }, {
      as: linked.key.value,
      style: "modern",
      capabilities,
    });
  return { ...linked, approver, run, args };
}

const decide = (world: World, how: "approve" | "reject", pid: string, who: Account) =>
  world.call("POST", `/api/shield/${how}/${pid}`, { as: who.token, body: {} });

const pending = async (world: World, { owner }: Here): Promise<Json> =>
  (await world.call("GET", "/api/shield/approvals", { as: owner.token })).body.approvals[0];

const task = (world: World, { key }: Here, method: string, taskId: string, more: Json = {}) =>
  rpc(world, `tasks/${method}`, { taskId, ...more.params }, {
    as: more.as ?? key.value,
    style: "modern",
    capabilities: more.capabilities ?? TASKS,
  });

Deno.test("mcp approvals: a client without tasks and elicitation gets an error with the ids", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const reply = await here.run();
  const { code, details } = toolError(reply);
  deq([reply.body.result.isError, code], [true, "APPROVAL_REQUIRED"]);
  const { pid, command_id } = await pending(world, here);
  deq([details.approval_id, details.command_id], [pid, command_id]);
  const { pathname, origin } = new URL(details.approval_url);
  eq(pathname, `/console/approvals/${pid}`);
  ok(reply.body.result.content[0].text.includes(`${origin}${pathname}`));
  deq(runsOf(here.agent), []);
  await decide(world, "approve", pid, here.approver);
  await world.settle();
  const look = { id: here.agent.id, command_id };
  const seen = await tool(world, "get_command", look, { as: here.key.value });
  deq([seen.body.result.structuredContent.status, runsOf(here.agent).length], ["succeeded", 1]);
});

Deno.test("mcp approvals: a client with a session gets that error with what to do", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const headers = { "mcp-protocol-version": "2025-11-25" };
  const reply = await tool(world, "run_command", here.args, { as: here.key.value, headers });
  eq(toolError(reply).code, "APPROVAL_REQUIRED");
  ok(reply.body.result.content[0].text.includes("do not send it again"));
});

Deno.test("mcp approvals: a client with tasks gets one at once, which ends with the command's result", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const { result } = (await here.run(TASKS)).body;
  deq([result.resultType, result.status], ["task", "working"]);
  ok(Number.isInteger(result.ttlMs) && Number.isInteger(result.pollIntervalMs));
  eq((await task(world, here, "get", result.taskId)).body.result.status, "working");
  const approve = (await pending(world, here)).pid;
  await tool(world, "approve_command", { pid: approve }, { as: here.approver.token });
  await world.settle();
  const done = (await task(world, here, "get", result.taskId)).body.result;
  deq([done.status, done.result.structuredContent.stdout], ["completed", "done\n"]);
  eq(runsOf(here.agent).length, 1);
});

Deno.test("mcp approvals: a task of a client with elicitation is input_required, and can be withdrawn", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const both = { ...TASKS, ...ASKABLE };
  const { taskId, status } = (await here.run(both)).body.result;
  eq(status, "input_required");
  const { inputRequests } =
    (await task(world, here, "get", taskId, { capabilities: both })).body.result;
  eq(inputRequests.approval.method, "elicitation/create");
  const answer = (decision: string) => ({
    params: { inputResponses: { approval: { action: "accept", content: { decision } } } },
  });
  await task(world, here, "update", taskId, answer("wait"));
  eq((await task(world, here, "get", taskId)).body.result.status, "working");
  const ack = await task(world, here, "update", taskId, answer("withdraw"));
  deq(Object.keys(ack.body.result).sort(), ["_meta", "resultType"]);
  eq((await task(world, here, "get", taskId)).body.result.status, "cancelled");
  eq((await decide(world, "approve", (await pending(world, here)).pid, here.approver)).status, 409);
  deq(runsOf(here.agent), []);
});

Deno.test("mcp approvals: a rejected task completes with an error, a cancelled one is cancelled, once", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const first = (await here.run(TASKS)).body.result.taskId;
  await decide(world, "reject", (await pending(world, here)).pid, here.approver);
  const rejected = (await task(world, here, "get", first)).body.result;
  deq([rejected.status, rejected.result.isError], ["completed", true]);
  eq(rejected.result._meta["relay/error"].code, "COMMAND_BLOCKED");
  const second = (await here.run(TASKS)).body.result.taskId;
  for (let n = 0; n < 2; n++) eq((await task(world, here, "cancel", second)).status, 200);
  eq((await task(world, here, "get", second)).body.result.status, "cancelled");
  deq(runsOf(here.agent), []);
});

Deno.test("mcp approvals: only its caller reads a task, with a client that knows tasks", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const { taskId } = (await here.run(TASKS)).body.result;
  const other = await world.key(here.owner, AGENT_RIGHTS);
  const stranger = await world.key(await world.signUp(), AGENT_RIGHTS);
  for (const method of ["get", "update", "cancel"]) {
    for (const as of [other.value, stranger.value]) {
      const theirs = await task(world, here, method, taskId, { as });
      const missing = await task(world, here, method, "cmd_missing", { as });
      eq(theirs.body.error.code, -32602);
      for (const { body } of [theirs, missing]) delete body.error.data.details.request_id;
      deq(theirs.body.error, missing.body.error);
      eq(theirs.body.error.data.code, "NOT_FOUND");
    }
    const unaware = await task(world, here, method, taskId, { capabilities: {} });
    deq([unaware.status, unaware.body.error.code], [400, -32021]);
  }
  for (const method of ["list", "result"]) {
    eq((await task(world, here, method, taskId)).body.error.code, -32601);
  }
});

Deno.test("mcp approvals: a client with elicitation returns with a state and gets the result", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const { result } = (await here.run(ASKABLE)).body;
  deq([result.resultType, Object.keys(result.inputRequests)], ["input_required", ["approval"]]);
  const again = (state: string, decision = "wait", more: Json = {}) =>
    here.run(ASKABLE, {
      requestState: state,
      inputResponses: { approval: { action: "accept", content: { decision } } },
      ...more,
    });
  const waiting = (await again(result.requestState)).body.result;
  eq(waiting.resultType, "input_required");
  eq((await pending(world, here)).status, "pending");
  await decide(world, "approve", (await pending(world, here)).pid, here.approver);
  await world.settle();
  const done = (await again(waiting.requestState)).body.result;
  deq([done.resultType, done.structuredContent.status], ["complete", "succeeded"]);
  deq((await again(result.requestState)).body.result.structuredContent, done.structuredContent);
  eq(runsOf(here.agent).length, 1, "the state was good for one command");
});

Deno.test("mcp approvals: a state is valid for its caller, tool and arguments only, and unchanged", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const { requestState } = (await here.run(ASKABLE)).body.result;
  const other = await world.key(here.owner, AGENT_RIGHTS);
  const second = await ScriptedAgent.connect(world, here.key.value, {
    name: "web-2",
    identity: await newIdentity(),
  });
  const flipped = requestState.slice(0, -2) + (requestState.endsWith("A") ? "BB" : "AA");
  const cases: [string, Json][] = [
    ["another caller", { as: other.value }],
    ["another command", { args: { ...here.args, command: "systemctl stop sshd" } }],
    ["another agent", { args: { ...here.args, agent_id: second.id } }],
    ["another timeout", { args: { ...here.args, timeout: 5 } }],
    ["another tool", { name: "request_approval" }],
    ["a changed state", { state: flipped }],
    ["no state of ours", { state: "state" }],
    ["a number", { state: 7 }],
  ];
  for (
    const [what, { as = here.key.value, args = here.args, name = "run_command", state }] of cases
  ) {
    const reply = await rpc(world, "tools/call", {
      name,
      arguments: args,
      requestState: state ?? requestState,
    }, { as, style: "modern", capabilities: ASKABLE });
    eq(reply.body.error?.code, -32602, what);
  }
  deq([runsOf(here.agent), runsOf(second)], [[], []]);
  const { text } = await world.call("GET", "/metrics", { as: here.owner.token });
  deq(text.match(/^relay_mcp_tool_calls_total.*$/gm), [
    'relay_mcp_tool_calls_total{tool="run_command",result="pending"} 1',
  ]);
});

Deno.test("mcp approvals: a changed policy ends a waiting call, which then cannot be approved or run", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const { taskId } = (await here.run(TASKS)).body.result;
  const { pid } = await pending(world, here);
  const body = { approvals: { expires_seconds: 61 } };
  await world.call("PATCH", "/api/shield/settings", { as: here.owner.token, body });
  await world.settle();
  eq((await decide(world, "approve", pid, here.approver)).status, 409);
  const { status, result } = (await task(world, here, "get", taskId)).body.result;
  deq([status, result.isError], ["completed", true]);
  deq(runsOf(here.agent), []);
});

Deno.test("mcp approvals: without a decision in time the task ends and nothing runs", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const body = { approvals: { expires_seconds: 60 } };
  await world.call("PATCH", "/api/shield/settings", { as: here.owner.token, body });
  const { taskId } = (await here.run(TASKS)).body.result;
  await world.advance(2 * 60_000);
  const { result } = (await task(world, here, "get", taskId)).body.result;
  ok(result._meta["relay/error"].message.includes("nobody decided in time"));
  deq(runsOf(here.agent), []);
});

Deno.test("mcp approvals: a denied command is refused at once and needs no approval", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const args = { ...here.args, command: "rm -rf /" };
  for (const name of ["run_command", "request_approval"]) {
    const reply = await tool(world, name, args, { as: here.key.value });
    eq(toolError(reply).code, "COMMAND_BLOCKED");
    ok(toolError(reply).details.shield_result.risk_score >= 70);
  }
  eq(await pending(world, here), undefined);
});

Deno.test("mcp approvals: request_approval holds even a harmless command, which runs once approved", async () => {
  await using world = await World.open();
  const here = await furnish(world);
  const args = { ...here.args, command: "uptime" };
  const reply = await tool(world, "request_approval", args, { as: here.key.value });
  eq(toolError(reply).code, "APPROVAL_REQUIRED");
  deq(runsOf(here.agent), []);
  const { approval_id: pid } = toolError(reply).details;
  const decided = await tool(world, "approve_command", { pid }, { as: here.approver.token });
  eq(decided.body.result.structuredContent.status, "approved");
  await world.settle();
  deq(runsOf(here.agent).map(({ command }) => command), ["uptime"]);
});

Deno.test("mcp approvals: tasks and states survive a restart of the relay", async () => {
  const kv = await Deno.openKv(":memory:");
  const identity = await newIdentity();
  const run = (world: World, as: string, agent_id: string, capabilities: Json, more: Json = {}) => {
    const params = { name: "run_command", arguments: { agent_id, command: RISKY }, ...more };
    return rpc(world, "tools/call", params, { as, style: "modern", capabilities });
  };
  let taskId = "", requestState = "", value = "", approver: Account;
  {
    await using world = await World.open({ kv: shared(kv) });
    const owner = await world.signUp();
    ({ value } = await world.key(owner, AGENT_RIGHTS));
    approver = await world.join(owner, ["operator"]);
    const agent = await ScriptedAgent.connect(world, value, { identity });
    ({ taskId } = (await run(world, value, agent.id, TASKS)).body.result);
    ({ requestState } = (await run(world, value, agent.id, ASKABLE)).body.result);
  }
  {
    await using world = await World.open({ kv: shared(kv), seed: 2 });
    const options = { as: value, style: "modern", capabilities: TASKS } as const;
    const look = async () => (await rpc(world, "tasks/get", { taskId }, options)).body.result;
    eq((await look()).status, "working");
    const agent = await ScriptedAgent.connect(world, value, { identity });
    const resume = async () =>
      (await run(world, value, agent.id, ASKABLE, { requestState })).body.result;
    eq((await resume()).resultType, "input_required");
    const list = await world.call("GET", "/api/shield/approvals", { as: approver.token });
    for (const { pid } of list.body.approvals) await decide(world, "approve", pid, approver);
    await world.settle();
    deq([(await look()).status, runsOf(agent).length], ["completed", 2]);
    eq((await resume()).structuredContent.status, "succeeded");
    eq(runsOf(agent).length, 2, "coming back ran nothing");
  }
  kv.close();
});
