import { type Actor, SCOPE_LIST } from "../core/identity/identity.ts";
import { z } from "zod";
import { RecentMap } from "../kv/store/recent.ts";
import { Fault } from "../core/fault/fault.ts";
import { deny, denyTestSpace, isClosedTo, missingRights } from "../routes/call/rights.ts";
import { standaloneSchema } from "../routes/openapi/schemas.ts";
import type { Route } from "../routes/call/route.ts";
import type { Bind, Exchange, Tool, Toolbox } from "./exchange.ts";
import type { Params } from "./json_rpc.ts";

/** The names of tools that are not named after their route's id. */
const NAMES: Readonly<Record<string, string>> = {
  "health.live": "health",
  "agents.list": "list_agents",
  "commands.exec": "run_command",
  "commands.get": "get_command",
  "commands.list": "list_commands",
  "commands.cancel": "cancel_command",
  "fleet_commands.start": "run_on_many",
  "fleet_commands.get": "get_fleet_command",
  "fleet_commands.cancel": "cancel_fleet_command",
  "approvals.approve": "approve",
  "approvals.reject": "reject",
  "approvals.list": "list_approvals",
  "approvals.get": "get_approval",
  "shield.evaluate": "evaluate_command",
};

/** The routes that are declared as tools, by name. */
export class Tools implements Toolbox {
  readonly #byName = new Map<string, Tool>();
  readonly #lists = new RecentMap<string>(256);

  constructor(routes: readonly Route[], binds: Readonly<Record<string, Bind>>) {
    const tools = routes.filter((route) => route.tool).map((route) => toolOf(route, binds));
    for (const tool of tools.sort((a, b) => a.name < b.name ? -1 : 1)) {
      if (this.#byName.has(tool.name)) throw new Error(`Two tools are called ${tool.name}.`);
      this.#byName.set(tool.name, tool);
    }
  }

  get(name: string): Tool | undefined {
    return this.#byName.get(name);
  }

  /** The tools that a caller may call, in order of their names. */
  callable(actor: Actor): Tool[] {
    return [...this.#byName.values()].filter(({ route }) => mayCall(actor, route));
  }

  /** The `tools` member of a list: one text for all callers with the same rights. */
  listJson(actor: Actor): string {
    const key = rightsKey(actor);
    const known = this.#lists.get(key);
    if (known !== undefined) return known;
    const list = `[${this.callable(actor).map(({ json }) => json).join(",")}]`;
    this.#lists.set(key, list);
    return list;
  }
}

/** True when the caller has the rights that the route declares. */
export function mayCall(actor: Actor, route: Route): boolean {
  if (isClosedTo(actor, route)) return false;
  if ("public" in route.access) return true;
  return actor.kind !== "anonymous" && missingRights(route, actor) === null;
}

/**
 * Refuses a caller who may not use a route, before the answer begins. Returns null instead of a promise for an
 * authorized caller.
 * @throws {Fault} MISSING_CREDENTIALS, INSUFFICIENT_SCOPES, FORBIDDEN
 */
export const authorize = (exchange: Exchange, route: Route): Promise<void> | null =>
  mayCall(exchange.actor, route) ? null : refuse(exchange, route);

async function refuse({ relay, actor, info }: Exchange, route: Route): Promise<never> {
  if (actor.kind === "anonymous") {
    throw new Fault("MISSING_CREDENTIALS", undefined, { required: scopesOf(route) });
  }
  if (isClosedTo(actor, route)) throw await denyTestSpace(relay, route, actor, info);
  throw await deny(relay, route, actor, info, missingRights(route, actor) ?? []);
}

/** The rights of which the route needs one. */
const scopesOf = ({ access }: Route): readonly string[] =>
  "scope" in access ? [access.scope].flat() : [];

function rightsKey({ kind, host, rights, tenant }: Actor): string {
  const bits = SCOPE_LIST.map((scope) => rights.has(scope) ? "1" : "0").join("");
  return `${kind === "anonymous"} ${host} ${tenant.space} ${bits}`;
}

function toolOf(route: Route, binds: Readonly<Record<string, Bind>>): Tool {
  const name = NAMES[route.id] ?? route.id.replace(".", "_");
  const places = new Map<string, "params" | "query" | "body">();
  for (const place of ["params", "query", "body"] as const) {
    for (const argument of Object.keys(route[place]?.shape ?? {})) {
      if (places.has(argument)) {
        throw new Error(`${route.id} has two arguments called ${argument}.`);
      }
      places.set(argument, place);
    }
  }
  const bind = binds[route.id];
  let json: string | null = null;
  return {
    name,
    route: { ...route, method: "POST", path: `/mcp#${name}` },
    /** Made at the first list, because the schemas of all tools take 20 ms. */
    get json() {
      return json ??= JSON.stringify(describe(name, route));
    },
    places,
    ...(bind && { bind }),
  };
}

function describe(name: string, route: Route) {
  const { summary, description, success, effect, tool, params, query, body } = route;
  const input = z.strictObject({ ...params?.shape, ...query?.shape, ...body?.shape });
  return {
    name,
    title: summary,
    description: description === undefined ? `${summary}.` : `${summary}. ${description}`,
    inputSchema: standaloneSchema(input, "input"),
    // Clients expect a type at the top, which a union of objects does not have.
    ...("body" in success && {
      outputSchema: { type: "object", ...standaloneSchema(success.body, "output") },
    }),
    annotations: {
      readOnlyHint: effect === "read",
      destructiveHint: tool?.destructive ?? false,
      openWorldHint: false,
    },
  };
}

/** The tool's arguments as the parts of its route's input. */
export function placeArguments({ places }: Tool, args: Params) {
  const placed: Record<"params" | "query" | "body", Record<string, unknown>> = {
    params: {},
    query: {},
    body: {},
  };
  for (const [name, value] of Object.entries(args)) {
    const place = places.get(name)!;
    // Paths and queries are text, so booleans become words.
    placed[place][name] = place !== "body" && typeof value === "boolean" ? `${value}` : value;
  }
  return placed;
}
