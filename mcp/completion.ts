import type { listAgents } from "../core/agents/agents.ts";
import type { listApprovals } from "../core/approvals/show.ts";
import { call } from "../routes/_call.ts";
import { type Exchange, type Result, resultOf } from "./exchange.ts";
import { promptTakes } from "./prompts.ts";
import { CODES, isObject, RpcError } from "./rpc.ts";
import { mayCall } from "./tools.ts";

const VALUES_MAX = 100;

/** What completes an argument: a tool that lists, and how its answer gives values. */
const SOURCES: Readonly<Record<string, { tool: string; values: (answer: never) => string[] }>> = {
  agent_id: {
    tool: "list_agents",
    values: (answer: Awaited<ReturnType<typeof listAgents>>) => answer.agents.map(({ id }) => id),
  },
  pid: {
    tool: "list_approvals",
    values: (answer: Awaited<ReturnType<typeof listApprovals>>) =>
      answer.approvals.map(({ pid }) => pid),
  },
};

/** `completion/complete`: ids that begin as the caller typed, of what the caller may list. */
export async function complete(exchange: Exchange): Promise<Result> {
  const { ref, argument } = exchange.params;
  if (!isObject(ref) || !isObject(argument) || typeof argument.value !== "string") {
    throw new RpcError(CODES.invalidParams, "`ref` and `argument` must be objects.");
  }
  const typed = argument.value;
  const all = await valuesOf(exchange, ref, argument.name);
  const values = all.filter((value) => value.startsWith(typed)).slice(0, VALUES_MAX);
  return resultOf({ completion: { values, total: values.length, hasMore: false } });
}

async function valuesOf(
  exchange: Exchange,
  ref: Readonly<Record<string, unknown>>,
  name: unknown,
): Promise<string[]> {
  const source = sourceOf(ref, name);
  if (source === undefined) return [];
  const { app, actor, info, server } = exchange;
  const route = server.tools.get(source.tool)!.route;
  if (!mayCall(actor, route)) return [];
  const query = { limit: 200 };
  const input = { params: {}, query, body: () => ({}), accept: "application/json" };
  return source.values(await call(app, route, actor, info, input) as never);
}

function sourceOf(ref: Readonly<Record<string, unknown>>, name: unknown) {
  if (ref.type === "ref/prompt" && promptTakes(ref.name, name)) return SOURCES[String(name)];
  if (ref.uri === "relay://agents/{id}" && name === "id") return SOURCES.agent_id;
  if (ref.uri === "relay://approvals/{pid}" && name === "pid") return SOURCES.pid;
  return undefined;
}
