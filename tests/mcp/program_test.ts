import { match, strictEqual as eq } from "node:assert/strict";
import { clientOf } from "../clients/status_client.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";
import { readReply, requestOf } from "./client.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** A call of the current revision, by somebody who knows tasks. */
async function send(url: string, as: string, method: string, params: Record<string, unknown>) {
  const request = requestOf(method, params, { as, style: "modern", capabilities: TASKS });
  const { headers } = request;
  const body = await request.text();
  const reply = await readReply(await fetch(`${url}/mcp`, { method: "POST", headers, body }));
  return reply.body.result;
}

const UNLIMITED = JSON.stringify(NO_LIMITS);

/** Lets people approve what they asked for themselves. */
async function allowSelfApproval(url: string, token: string): Promise<void> {
  const response = await fetch(`${url}/api/shield/settings`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ approvals: { self_approval: true } }),
  });
  eq(response.status, 200, await response.text());
}

Deno.test("mcp tasks: a relay killed right after it returned a task still resolves it and its approval", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv`, RELAY_CONFIG: UNLIMITED };
    const first = await startRelayProcess(env);
    const token = await signUpOwner(clientOf(first.url));
    await allowSelfApproval(first.url, token);
    const scopes = [
      "agents:admin",
      "agents:read",
      "agents:write",
      "approvals:write",
      "approvals:read",
    ];
    const key = await makeKey(clientOf(first.url, token), scopes);
    const runAgent = (url: string) =>
      startMain(["agent", "--url", url, "--state", `${folder}/agent`], { RELAY_TOKEN: key });
    const agent = runAgent(first.url);
    const [, id] = await agent.line(/(agt_\w+)/, START_MS);
    const args = { agent_id: id, command: "echo ran" };
    const call = { name: "request_approval", arguments: args };
    const { taskId, status } = await send(first.url, key, "tools/call", call);
    eq(status, "working");
    await first.relay.kill();
    await agent.stop();

    const { relay, url } = await startRelayProcess(env);
    try {
      eq((await send(url, key, "tasks/get", { taskId })).status, "working");
      const again = runAgent(url);
      await again.line(/(agt_\w+)/, START_MS);
      const queue = await send(url, key, "tools/call", { name: "list_approvals", arguments: {} });
      const [{ pid }] = queue.structuredContent.approvals;
      await send(url, key, "tools/call", { name: "approve_command", arguments: { pid } });
      let task = await send(url, key, "tasks/get", { taskId });
      while (task.status === "working") {
        task = await send(url, key, "tasks/get", { taskId });
      }
      eq(task.status, "completed");
      match(task.result.structuredContent.stdout, /ran\n$/);
      await again.stop();
    } finally {
      await relay.stop();
    }
  });
});
