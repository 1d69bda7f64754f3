import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { routes } from "../../routes/index.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { StreamClient } from "../support/stream.ts";
import { World } from "../support/world.ts";
import { rpc, tool, toolError } from "../mcp/client.ts";
import { rename, show } from "./names_fixtures.ts";

const RIGHTS = ["agents:admin", "agents:read", "agents:write"];

async function begin() {
  const world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const agent = await ScriptedAgent.connect(world, value, { name: "web-1" });
  agent.script = () => ({ stdout: `${agent.id}\n` });
  const stranger = await world.signUp();
  const theirs = await world.key(stranger, RIGHTS);
  const other = await ScriptedAgent.connect(world, theirs.value, { name: "db-1" });
  return {
    world,
    owner,
    value,
    agent,
    stranger,
    other,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

Deno.test("names: a command by name runs on the agent, is recorded under its id, and is counted as its use", async () => {
  await using here = await begin();
  const { world, owner, agent } = here;
  const key = await world.key(owner, ["agents:write"]);
  const { status, body } = await world.call("GET", "/api/exec/web-1?command=hostname", {
    as: key.value,
  });
  deq([status, body.agent_id, body.stdout], [200, agent.id, `${agent.id}\n`]);
  const read = await world.call("GET", `/api/v1/agents/web-1/commands/${body.command_id}`, {
    as: owner.token,
  });
  deq([read.status, read.body.agent_id], [200, agent.id]);
  // Each instance writes its counts after a while.
  await world.advance(10_000);
  const usage = await world.call("GET", `/api/v1/api-keys/${key.id}/usage`, { as: owner.token });
  deq(usage.body.top_agents, [{ agent_id: agent.id, requests: 1 }]);
});

Deno.test("names: one of another organization is not found on any path, and neither is a freed one", async () => {
  await using here = await begin();
  const { world, owner, agent } = here;
  await rename(world, owner, agent.id, "web-2");
  const paths = routes.filter(({ agent, path }) =>
    agent !== undefined && path.includes(`{${agent}}`)
  );
  eq(paths.length > 10, true);
  for (const name of ["db-1", "web-1", "nobody"]) {
    for (const { method, path, query } of paths) {
      const at = path.replace(/\{(id|agent_id)\}/, name).replace("{command_id}", "cmd_1");
      const asked = query?.shape.command ? `${at}?command=uptime` : at;
      const body = method === "GET" || method === "DELETE" ? undefined : BODIES[path] ?? {};
      const answer = await world.call(method, asked, { as: owner.token, body });
      deq([answer.status, answer.body.error.code], [404, "AGENT_NOT_FOUND"], `${method} ${at}`);
    }
  }
});

/** Bodies of the paths that need more than `{}`. */
const BODIES: Readonly<Record<string, unknown>> = {
  "/api/v1/agents/{id}": { name: "web-3" },
  "/api/v1/agents/{id}/commands": { command: "uptime" },
  "/api/v1/gitops/restore/{agent_id}": { backup_id: "bkp_1" },
};

Deno.test("names: an agent of the test space has names of its own", async () => {
  await using here = await begin();
  const { world, owner, agent } = here;
  const key = await world.key(owner, RIGHTS, { type: "test" });
  eq((await world.call("GET", "/api/v1/agents/web-1", { as: key.value })).status, 404);
  eq((await show(world, owner, "web-1")).id, agent.id);
});

Deno.test("names: the public heartbeat takes ids only", async () => {
  await using here = await begin();
  const { world, agent } = here;
  const beat = (agent_id: string) =>
    world.call("POST", "/api/v1/heartbeat", { body: { agent_id, status: "ok" } });
  eq((await beat("web-1")).status, 404);
  eq((await beat(agent.id)).status, 202);
});

Deno.test("names: MCP tools and resources take them", async () => {
  await using here = await begin();
  const { world, owner, agent } = here;
  const as = { as: owner.token };
  const call = async (name: string, args: Record<string, unknown>) => {
    const { body } = await tool(world, name, args, as);
    return body.result.structuredContent;
  };
  eq((await call("run_command", { agent_id: "web-1", command: "hostname" })).agent_id, agent.id);
  eq((await call("get_agent", { id: "web-1" })).id, agent.id);
  const held = await tool(world, "request_approval", { agent_id: "web-1", command: "uptime" }, as);
  eq(toolError(held).details.agent_id, agent.id);
  const { body } = await rpc(world, "resources/read", { uri: "relay://agents/web-1" }, as);
  eq(JSON.parse(body.result.contents[0].text).id, agent.id);
  const unknown = await tool(world, "get_agent", { id: "db-1" }, as);
  eq(toolError(unknown).code, "AGENT_NOT_FOUND");
  eq((await call("update_agent", { id: "web-1", name: "web-9" })).name, "web-9");
});

/** The filters by agent in queries, with what they list. */
const FILTERED = [
  ["/api/v1/commands", "commands"],
  ["/api/audit", "events"],
  ["/api/shield/alerts", "alerts"],
] as const;

Deno.test("names: filters of lists take them; an unknown name is 404, an id finds what a deleted agent left", async () => {
  await using here = await begin();
  const { world, owner, agent } = here;
  const as = { as: owner.token };
  const read = async (path: string, named: string) =>
    await world.call("GET", `${path}?agent_id=${named}`, as);
  const ids = async (named: string) =>
    await Promise.all(FILTERED.map(async ([path, field]) => {
      const { status, body } = await read(path, named);
      eq(status, 200, path);
      return body[field].map((row: { agent_id: string }) => row.agent_id)
        .filter((id: string, at: number, all: string[]) => all.indexOf(id) === at);
    }));
  await world.call("GET", "/api/exec/web-1?command=hostname", as);
  const alerts = [{ name: "DiskFull", agent_id: "web-1" }, { name: "Slow", agent_id: "router-7" }];
  const body = { source: "scanner", alerts };
  eq((await world.call("POST", "/api/shield/ingest", { ...as, body })).body.created, 2);
  deq(await ids("web-1"), [[agent.id], [agent.id], [agent.id]]);
  const csv = await world.call("GET", "/api/audit/export?agent_id=web-1", {
    ...as,
    headers: { accept: "text/csv" },
  });
  const rows = csv.text.trimEnd().split("\r\n").slice(1);
  deq([rows.length > 0, rows.every((row) => row.includes(agent.id))], [true, true]);
  for (const unknown of ["web-9", "db-1", "Web-1"]) {
    for (const path of [...FILTERED.map(([path]) => path), "/api/audit/export", "/api/events"]) {
      const answer = await read(path, unknown);
      deq([answer.status, answer.body.error.code], [404, "AGENT_NOT_FOUND"], `${path} ${unknown}`);
    }
  }
  // The source calls something by this name that Relay does not know.
  eq((await read("/api/shield/alerts", "router-7")).body.alerts[0].name, "Slow");
  eq((await world.call("DELETE", "/api/v1/agents/web-1", as)).status, 204);
  deq(await ids(agent.id), [[agent.id], [agent.id], [agent.id]]);
  eq((await read("/api/audit", "web-1")).status, 404);
});

Deno.test("names: streams and the tools of MCP filter by them", async () => {
  await using here = await begin();
  const { world, owner, agent } = here;
  const as = { as: owner.token };
  const stream = await StreamClient.open(world, owner.token, { query: "?agent_id=web-1" });
  eq((await stream.next())!.event, "hello");
  // A stream follows the agent, whatever it is called meanwhile.
  await rename(world, owner, agent.id, "web-2");
  await world.call("GET", "/api/exec/web-2?command=hostname", as);
  await world.app.log.flush();
  for (let event = await stream.next(); event!.event !== "event"; event = await stream.next());
  await stream.cut();
  for (const [name, field] of [["list_commands", "commands"], ["tail_events", "events"]] as const) {
    const { body } = await tool(world, name, { agent_id: "web-2" }, as);
    const rows = body.result.structuredContent[field];
    deq([rows.length > 0, rows[0].agent_id], [true, agent.id], name);
    eq(toolError(await tool(world, name, { agent_id: "web-1" }, as)).code, "AGENT_NOT_FOUND");
  }
});
