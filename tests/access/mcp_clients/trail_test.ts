import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { linkAgent } from "../../support/linked_agent.ts";
import { World } from "../../support/world.ts";
import { beside, connected } from "./fixtures.ts";

Deno.test("mcp clients: audit rows of a client's acts name its grant, also when they end later", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  const { access_token } = await connected(world, owner);
  const act = async (name: string, args: Readonly<Record<string, unknown>>) => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
    const answer = await beside(world, "POST", "/mcp", { as: access_token, body });
    eq(answer.status, 200, answer.text);
  };
  await act("run_command", { agent_id: agent.id, command: "uptime" });
  await act("run_command", { agent_id: agent.id, command: "systemctl stop nginx" });
  const { body: { approvals } } = await world.call("GET", "/api/shield/approvals", {
    as: owner.token,
  });
  const approver = await world.join(owner, ["operator"]);
  await world.call("POST", `/api/shield/approve/${approvals[0].pid}`, {
    as: approver.token,
    body: {},
  });
  await world.settle();

  const { body: { clients } } = await world.call("GET", "/api/account/mcp-clients", {
    as: owner.token,
  });
  const { body: { events } } = await world.call("GET", "/api/audit?limit=100", { as: owner.token });
  const byClient = [owner.userId, clients[0].id];
  const rows = (type: string) =>
    events.filter(({ event_type }: { event_type: string }) => event_type === type)
      .map(({ actor, mcp_grant_id }: Record<string, string>) => [actor, mcp_grant_id]);
  deq(rows("approval_requested"), [byClient]);
  deq(rows("command_executed"), [byClient, byClient]);
  eq(rows("approval_resolved")[0][1], undefined);
});
