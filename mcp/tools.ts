import { type Actor, SCOPE_LIST } from "../core/identity/identity.ts";
import { z } from "zod";
import { RecentMap } from "../kv/store/recent.ts";
import { Fault } from "../core/fault/fault.ts";
import { deny, denyTestSpace, isClosedTo, missingRights } from "../routes/call/rights.ts";
import { standaloneSchema } from "../routes/openapi/schemas.ts";
import type { Route, ToolSpec } from "../routes/call/route.ts";
import type { JsonSchema } from "../routes/openapi/types.ts";
import {
  type Bind,
  type Exchange,
  type Tool,
  TOOL_SETS,
  type Toolbox,
  type ToolSet,
} from "./exchange.ts";
import { FORMER_NAMES } from "./former_names.ts";
import type { Params } from "./json_rpc.ts";

/** The routes that are declared as tools, by name. */
export class Tools implements Toolbox {
  readonly #byName = new Map<string, Tool>();
  readonly #lists = new RecentMap<string>(256);

  constructor(routes: readonly Route[], binds: Readonly<Record<string, Bind>>) {
    const tools = routes.flatMap((route) => route.tool ? [toolOf(route, route.tool, binds)] : []);
    for (const tool of tools.sort((a, b) => a.name < b.name ? -1 : 1)) {
      if (this.#byName.has(tool.name)) throw new Error(`Two tools are called ${tool.name}.`);
      this.#byName.set(tool.name, tool);
    }
  }

  get(name: string): Tool | undefined {
    return this.#byName.get(name) ?? this.#byName.get(FORMER_NAMES.get(name) ?? "");
  }

  listJson(actor: Actor, set: ToolSet): string {
    const key = `${set} ${rightsKey(actor)}`;
    const known = this.#lists.get(key);
    if (known !== undefined) return known;
    const callable = [...this.#byName.values()]
      .filter((tool) => isIn(tool, set) && mayCall(actor, tool.route));
    const list = `[${callable.map((tool) => tool.jsonIn(set)).join(",")}]`;
    this.#lists.set(key, list);
    return list;
  }
}

/** The query of the protocol's addresses. */
export const McpQuery = z.strictObject({
  tools: z.enum(TOOL_SETS).default("all"),
  /** Refuses anonymous callers: clients ask a person to sign in only after a 401. */
  sign_in: z.literal("required").optional(),
});

/** True when a client that chose this set may see and call the tool. */
export const isIn = ({ common }: Tool, set: ToolSet): boolean => common || set === "all";

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

function toolOf(route: Route, spec: ToolSpec, binds: Readonly<Record<string, Bind>>): Tool {
  const { name, common = false } = spec;
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
  const jsonBySet: Partial<Record<ToolSet, string>> = {};
  return {
    name,
    common,
    route: { ...route, method: "POST", path: `/mcp#${name}` },
    /** Made at the first list, because the schemas of all tools take 20 ms. */
    jsonIn: (set) => jsonBySet[set] ??= JSON.stringify(describe(route, spec, set)),
    places,
    ...(bind && { bind }),
  };
}

function describe(
  route: Route,
  { name, destructive, description = route.description }: ToolSpec,
  set: ToolSet,
) {
  const { summary, success, effect, params, query, body } = route;
  const input = z.strictObject({ ...params?.shape, ...query?.shape, ...body?.shape });
  return {
    name,
    title: summary,
    description: description === undefined ? `${summary}.` : `${summary}. ${description}`,
    inputSchema: withoutBounds(standaloneSchema(input, "input")),
    // Models do not read schemas of answers, which are most of a list. Clients expect a type at the top, which a
    // union of objects does not have.
    ...(set === "all" && "body" in success && {
      outputSchema: { type: "object", ...standaloneSchema(success.body, "output") },
    }),
    annotations: {
      readOnlyHint: effect === "read",
      destructiveHint: destructive,
      openWorldHint: false,
    },
  };
}

/** Keywords that only refuse: the call checks them, and a refusal says what is wrong. */
const BOUNDS = new Set([
  "pattern",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "maxProperties",
]);

/** A schema without them. An argument of such a name has an object in their place. */
const withoutBounds = (schema: JsonSchema): JsonSchema =>
  JSON.parse(
    JSON.stringify(schema),
    (key, value) => BOUNDS.has(key) && typeof value !== "object" ? undefined : value,
  );

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
