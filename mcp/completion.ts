import { agentIdOf } from "../core/agents/agents.ts";
import { agents } from "../kv/records/agent.ts";
import { approvals } from "../kv/records/approval.ts";
import type { Page } from "../kv/store/reader.ts";
import { Id } from "../routes/schemas/schemas.ts";
import type { Exchange } from "./exchange.ts";
import { CODES, isObject, RpcError } from "./json_rpc.ts";
import { promptTakes } from "./prompts.ts";
import { type Result, resultOf } from "./result.ts";
import { mayCall } from "./tools.ts";

const VALUES_MAX = 100;
/** How many of the newest records are searched. An older one is found only by its whole id or name. */
const READ_MAX = 1_000;

/** The records whose ids complete an argument, for callers of the tool that lists them. */
interface Source {
  readonly tool: string;
  newest(exchange: Exchange): Promise<Page<{ id: string; name?: string }>>;
  has(exchange: Exchange, text: string): Promise<boolean>;
}

const SOURCES: Readonly<Record<string, Source>> = {
  agent_id: {
    tool: "list_agents",
    newest: ({ relay, actor }) =>
      relay.store.list(agents, actor.tenant, { limit: READ_MAX, reverse: true }),
    async has({ relay: { store }, actor: { tenant } }, text) {
      return await store.get(agents, tenant, await agentIdOf(store, tenant, text)) !== null;
    },
  },
  pid: {
    tool: "list_approvals",
    newest: ({ relay, actor }) =>
      relay.store.list(approvals, actor.tenant, { limit: READ_MAX, reverse: true }),
    has: async ({ relay, actor }, id) =>
      await relay.store.get(approvals, actor.tenant, id) !== null,
  },
};

/** `completion/complete`: ids, and names of agents, with the typed prefix, among those that the caller may list. */
export async function complete(exchange: Exchange): Promise<Result> {
  const { ref, argument } = exchange.params;
  if (!isObject(ref) || !isObject(argument) || typeof argument.value !== "string") {
    throw new RpcError(CODES.invalidParams, "`ref` and `argument` must be objects.");
  }
  const { found, all } = await find(exchange, sourceOf(ref, argument.name), argument.value);
  const values = found.slice(0, VALUES_MAX);
  const hasMore = !all || found.length > values.length;
  return resultOf({ completion: { values, hasMore, ...(all && { total: found.length }) } });
}

/** The ids and names with the typed prefix, and whether the list is complete. */
async function find(
  exchange: Exchange,
  source: Source | undefined,
  typed: string,
): Promise<{ found: string[]; all: boolean }> {
  const { actor, server } = exchange;
  if (source === undefined || !mayCall(actor, server.tools.get(source.tool)!.route)) {
    return { found: [], all: true };
  }
  const { items, cursor } = await source.newest(exchange);
  const found = items.flatMap(({ id, name }) => name === undefined ? [id] : [name, id])
    .filter((text) => text.startsWith(typed));
  const older = cursor !== null && found.length === 0 && Id.safeParse(typed).success &&
    await source.has(exchange, typed);
  return { found: older ? [typed] : found, all: cursor === null || older };
}

function sourceOf(ref: Readonly<Record<string, unknown>>, name: unknown): Source | undefined {
  if (ref.type === "ref/prompt" && promptTakes(ref.name, name)) return SOURCES[String(name)];
  if (ref.uri === "relay://agents/{id}" && name === "id") return SOURCES.agent_id;
  if (ref.uri === "relay://approvals/{pid}" && name === "pid") return SOURCES.pid;
  return undefined;
}
