import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { FORMER_NAMES } from "../../mcp/former_names.ts";
import { REMOTE_COMMANDS } from "../../core/cli/remote/table.ts";
import { eventsOf } from "../support/linked_agent.ts";
import { World } from "../support/world.ts";
import { type Json, rpc, tool } from "./client.ts";
import { withInstallLinks } from "./install_links.ts";

const names = async (world: World, as: string): Promise<string[]> =>
  (await rpc(world, "tools/list", {}, { as })).body.result.tools.map(({ name }: Json) => name);

/** The first words of names. */
const VERBS = [
  "acknowledge",
  "apply",
  "approve",
  "back",
  "cancel",
  "compare",
  "delete",
  "evaluate",
  "explain",
  "generate",
  "get",
  "list",
  "query",
  "reject",
  "request",
  "resolve",
  "restart",
  "restore",
  "roll",
  "run",
  "switch",
  "tail",
  "test",
  "update",
];

Deno.test("tools: are named by a verb and what it acts on", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  for (const name of await names(world, token)) {
    ok(/^[a-z]+(_[a-z]+)+$/.test(name) && name.length <= 32, name);
    ok(VERBS.includes(name.split("_")[0]!), name);
  }
});

const COMMON = [
  "approve_command",
  "cancel_command",
  "get_agent",
  "get_command",
  "list_agents",
  "list_alerts",
  "list_approvals",
  "list_commands",
  "reject_command",
  "request_approval",
  "run_command",
  "tail_events",
];
const COMMON_BYTES_MAX = 12_000;

Deno.test("tools: the 12 common ones are listed in less than 12 kB, and only they are callable at their address", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  for (const path of ["/mcp?tools=common", "/mcp/stream?tools=common"]) {
    const { body } = await rpc(world, "tools/list", {}, { as, path });
    deq(body.result.tools.map(({ name }: Json) => name), COMMON);
    const { length } = new TextEncoder().encode(JSON.stringify(body));
    ok(length < COMMON_BYTES_MAX, `${length} bytes`);
    const called = await tool(world, "list_agents", {}, { as, path });
    deq(called.body.result.structuredContent.agents, []);
    const refused = await tool(world, "list_secrets", {}, { as, path });
    eq(
      refused.body.error.message,
      'There is no tool "list_secrets" among the common ones. Leave `?tools=common` out of the address.',
    );
  }
  const wrong = await tool(world, "list_agents", {}, { as, path: "/mcp?tools=few" });
  deq([wrong.status, wrong.body.error.code], [400, "VALIDATION_FAILED"]);
});

Deno.test("tools: those of version 0.1.0 are callable by their former names, which no list has", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const listed = await names(world, owner.token);
  for (const [former, name] of FORMER_NAMES) {
    ok(listed.includes(name) && !listed.includes(former), former);
  }
  const key = await world.key(owner, ["agents:read"]);
  const { body } = await tool(world, "agents_get", { id: "agt_missing" }, { as: key.value });
  eq(body.result._meta["relay/error"].code, "AGENT_NOT_FOUND");
  const uses = await eventsOf(world, owner, key.id);
  eq(uses.at(-1)?.details.endpoint, "POST /mcp#get_agent");
});

Deno.test("install links: docs/mcp.md has those that deno task docs writes, and each starts relay mcp", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/mcp.md", import.meta.url));
  eq(page, withInstallLinks(page));
  const program = { command: "relay", args: ["mcp"] };
  ok(REMOTE_COMMANDS.some(({ name }) => name === program.args[0]));
  const links = [...page.matchAll(/\[install\]\((\S+)\)/g)].map(([, link]) => new URL(link!));
  const configurations = links.map(({ searchParams }) => {
    const config = searchParams.get("config");
    if (config !== null) return JSON.parse(atob(config));
    return JSON.parse(decodeURIComponent(searchParams.get("url")!.split("?")[1]!));
  });
  deq(configurations, [{ name: "relay", ...program }, program, program]);
});
