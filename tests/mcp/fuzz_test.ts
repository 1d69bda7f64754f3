import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { METHODS } from "../../mcp/methods.ts";
import { linkAgent } from "../support/linked_agent.ts";
import { mulberry32 } from "../support/random.ts";
import { World } from "../support/world.ts";
import { type Json, readReply, requestOf } from "./client.ts";

const ROUNDS = 1_500;
const STATUSES = [200, 202, 400, 401, 403, 404, 405, 406, 413, 415, 429];
const NAMES = [
  "name",
  "uri",
  "arguments",
  "taskId",
  "_meta",
  "cursor",
  "requestState",
  "inputResponses",
  "notifications",
  "ref",
  "argument",
  "level",
  "protocolVersion",
  "capabilities",
  "clientInfo",
  "id",
  "agent_id",
  "command",
  "limit",
  "pid",
  "__proto__",
  "constructor",
];
const TEXTS = [
  "",
  "get_health",
  "run_command",
  "list_agents",
  "tail_events",
  "approve_command",
  "relay://agents",
  "relay://agents/x",
  "constructor",
  "\ud800",
  "\u0000",
  "é",
  "x".repeat(3_000),
  "2025-11-25",
  "1e9",
];

/** Any JSON, of the names and texts that mean something here. */
function anyJson(unit: () => number, depth: number): Json {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(unit() * from.length)]!;
  const kind = Math.floor(unit() * (depth > 3 ? 5 : 8));
  if (kind < 2) return pick(TEXTS);
  if (kind === 2) return pick([0, -1, 1.5, 1e300, 7]);
  if (kind === 3) return pick([true, false, null]);
  if (kind === 4) return pick([[], {}]);
  if (kind === 5) return Array.from({ length: unit() * 4 }, () => anyJson(unit, depth + 1));
  const entries = Array.from({ length: unit() * 5 }, () => [pick(NAMES), anyJson(unit, depth + 1)]);
  return Object.fromEntries(entries);
}

Deno.test("mcp: every message, however odd, gets an answer of the protocol and no bug is logged", async () => {
  await using world = await World.open();
  const { owner, key } = await linkAgent(world);
  const seed = 7282026;
  console.log(`seed ${seed}`);
  const unit = mulberry32(seed);
  const methods = [...Object.keys(METHODS), "nope", "__proto__"];
  for (let round = 0; round < ROUNDS; round++) {
    const method = methods[Math.floor(unit() * methods.length)]!;
    const style = unit() < 0.5 ? "plain" : "modern";
    const as = [undefined, owner.token, key.value][Math.floor(unit() * 3)];
    const params = anyJson(unit, 0);
    const known = unit() < 0.5 ? { name: TEXTS[1 + Math.floor(unit() * 5)] } : {};
    const object = typeof params === "object" && params !== null && !Array.isArray(params);
    const sent = object ? { ...params, ...known } : params;
    let request: Request;
    try {
      request = requestOf(method, sent ?? 0, {
        as,
        style,
        path: unit() < 0.5 ? "/mcp" : "/mcp/stream",
        capabilities: { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
      });
    } catch {
      continue; // no header can hold that name
    }
    const reply = await readReply(await world.send(request));
    const where = `${seed} ${round} ${style} ${method} ${JSON.stringify(sent)}`;
    ok(STATUSES.includes(reply.status), `${reply.status} ${where}`);
    ok(reply.body === null || "result" in reply.body || "error" in reply.body, where);
    deq(world.logged, [], where);
  }
});
