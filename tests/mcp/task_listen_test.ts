import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { linkAgent } from "../support/linked_agent.ts";
import { World } from "../support/world.ts";
import { type Json, Reader, requestOf, rpc, tool } from "./client.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/** Listens to tasks as a client that can do this. */
async function listen(world: World, as: string, taskIds: Json, capabilities: Json = TASKS) {
  const options = { as, style: "modern", id: "l", capabilities } as const;
  const request = requestOf("subscriptions/listen", { notifications: { taskIds } }, options);
  return new Reader(await world.send(request));
}

Deno.test("mcp tasks: a listener gets the states of its task up to the result, and no other task's", async () => {
  await using world = await World.open();
  const { owner, key, agent } = await linkAgent(world);
  const approver = await world.join(owner, ["operator"]);
  const call = async () => {
    const args = { agent_id: agent.id, command: "systemctl stop nginx" };
    const params = { name: "run_command", arguments: args };
    const options = { as: key.value, style: "modern", capabilities: TASKS } as const;
    return (await rpc(world, "tools/call", params, options)).body.result.taskId as string;
  };
  const [mine, other] = [await call(), await call()];
  const reader = await listen(world, key.value, [mine, mine, "cmd_missing", 7, "a b"]);
  const [ack] = await reader.until(1);
  deq(ack.params.notifications, { taskIds: [mine] });
  const queue = await tool(world, "list_approvals", {}, { as: owner.token });
  for (const { pid, command_id } of queue.body.result.structuredContent.approvals) {
    const decide = command_id === other ? "reject_command" : "approve_command";
    await tool(world, decide, { pid }, { as: approver.token });
  }
  await world.settle();
  const ended = ({ params }: Json) => params.status === "completed";
  for (let count = 2; !reader.messages.some(ended); count++) await reader.until(count);
  const told = reader.messages.slice(1);
  for (const { method, params } of told) {
    deq([method, params.taskId], ["notifications/tasks", mine]);
    eq(params._meta[SUBSCRIPTION], "l");
  }
  eq(told.at(-1).params.result.structuredContent.stdout, "done\n");
  const states = told.map(({ params: { _meta, ...state } }) => JSON.stringify(state));
  eq(new Set(states).size, states.length, "each state once");
  await reader.drop();
});

Deno.test("mcp tasks: a listener needs its own task, a client with tasks, and the right", async () => {
  await using world = await World.open();
  const { owner, key, agent } = await linkAgent(world);
  const held = { name: "request_approval", arguments: { agent_id: agent.id, command: "uptime" } };
  const options = { as: key.value, style: "modern", capabilities: TASKS } as const;
  const { taskId } = (await rpc(world, "tools/call", held, options)).body.result;
  const stranger = await world.signUp();
  for (const as of [stranger.token, owner.token]) {
    const reader = await listen(world, as, [taskId]);
    deq((await reader.until(1))[0].params.notifications, {});
    await reader.drop();
  }
  const refused = await rpc(
    world,
    "subscriptions/listen",
    { notifications: { taskIds: [taskId] } },
    {
      as: key.value,
      style: "modern",
    },
  );
  deq([refused.status, refused.body.error.code], [400, -32021]);
  const reader = await listen(world, key.value, [taskId]);
  await reader.until(1);
  const narrowed = await world.call("PATCH", `/api/v1/api-keys/${key.id}`, {
    as: owner.token,
    body: { scopes: ["catalog:read"] },
  });
  eq(narrowed.status, 200);
  await world.advance(1_000);
  const before = reader.messages.length;
  const [{ pid }] = (await tool(world, "list_approvals", {}, { as: owner.token })).body.result
    .structuredContent.approvals;
  const approver = await world.join(owner, ["operator"]);
  const rejected = await tool(world, "reject_command", { pid }, { as: approver.token });
  eq(rejected.body.result.isError, undefined);
  await world.advance(1_000);
  await world.call("POST", `/api/v1/api-keys/${key.id}/revoke`, { as: owner.token });
  await world.advance(1_000);
  await reader.until(Infinity);
  deq(reader.messages.slice(before).filter(({ method }) => method === "notifications/tasks"), []);
});
