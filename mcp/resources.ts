import { Fault } from "../core/fault/fault.ts";
import { call } from "../routes/call/call.ts";
import type { Route } from "../routes/call/route.ts";
import { Id } from "../routes/schemas/schemas.ts";
import type { Actor } from "../core/identity/identity.ts";
import type { Exchange, Server } from "./exchange.ts";
import { CODES, RpcError } from "./json_rpc.ts";
import { mustBeFirstPage, textOf } from "./params.ts";
import { type Result, withCacheHints } from "./result.ts";
import { authorize, mayCall } from "./tools.ts";

/** A resource, which a tool's route reads. */
interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly tool: string;
  /** The name of the parameter in braces. */
  readonly parameter?: string;
}

const RESOURCES: readonly Resource[] = [
  {
    uri: "relay://agents",
    name: "agents",
    description: "The agents and their states",
    tool: "list_agents",
  },
  {
    uri: "relay://agents/{id}",
    name: "agent",
    description: "One agent",
    tool: "get_agent",
    parameter: "id",
  },
  {
    uri: "relay://approvals",
    name: "approvals",
    description: "Approval requests, newest first",
    tool: "list_approvals",
  },
  {
    uri: "relay://approvals/{pid}",
    name: "approval",
    description: "One approval request",
    tool: "get_approval",
    parameter: "pid",
  },
  {
    uri: "relay://policies",
    name: "policies",
    description: "The policies in force",
    tool: "list_policies",
  },
  {
    uri: "relay://policies/{id}",
    name: "policy",
    description: "One policy in force, with its document",
    tool: "get_policy",
    parameter: "id",
  },
  {
    uri: "relay://audit",
    name: "audit",
    description: "The newest rows of the audit log",
    tool: "query_audit_log",
  },
  {
    uri: "relay://events",
    name: "events",
    description: "The newest events, oldest first",
    tool: "tail_events",
  },
];

const MIME = "application/json";
/** Lists of resources depend on rights, which seldom change. */
const LIST_HINT = { ttlMs: 60_000, scope: "private" } as const;
/** The content of a resource may change at any moment. */
const READ_HINT = { ttlMs: 0, scope: "private" } as const;

const routeOf = ({ server }: Exchange, { tool }: Resource): Route => server.tools.get(tool)!.route;

/** `resources/list`. */
export const listResources = (exchange: Exchange): Result =>
  listThose(exchange, "resources", "uri");

/** `resources/templates/list`. */
export const listTemplates = (exchange: Exchange): Result =>
  listThose(exchange, "resourceTemplates", "uriTemplate");

/** The resources that the caller may read, with or without a parameter in their address. */
function listThose(
  exchange: Exchange,
  member: string,
  address: "uri" | "uriTemplate",
): Result {
  mustBeFirstPage(exchange);
  const those = RESOURCES.filter((resource) =>
    (resource.parameter !== undefined) === (address === "uriTemplate") &&
    mayCall(exchange.actor, routeOf(exchange, resource))
  ).map(({ uri, name, description }) => ({ [address]: uri, name, description, mimeType: MIME }));
  return withCacheHints(exchange, `"${member}":${JSON.stringify(those)}`, LIST_HINT);
}

/** `resources/read`. */
export async function readResource(exchange: Exchange): Promise<Result> {
  const uri = textOf(exchange, "uri");
  const text = JSON.stringify(await valueOf(exchange, uri));
  const contents = JSON.stringify([{ uri, mimeType: MIME, text }]);
  return withCacheHints(exchange, `"contents":${contents}`, READ_HINT);
}

async function valueOf(exchange: Exchange, uri: string): Promise<unknown> {
  const { relay, actor, info } = exchange;
  const found = findResource(uri);
  if (found === null) throw notFound(exchange, uri);
  const { resource, params } = found;
  const route = routeOf(exchange, resource);
  await authorize(exchange, route);
  const input = { params, query: {}, body: () => ({}), accept: MIME };
  try {
    return await call(relay, route, actor, info, input);
  } catch (error) {
    if (error instanceof Fault && (error.status === 404 || error.status === 400)) {
      throw notFound(exchange, uri);
    }
    throw error;
  }
}

/** True when a caller may read the resource of this address. */
export function mayRead({ tools }: Server, actor: Actor, uri: string): boolean {
  const found = findResource(uri);
  return found !== null && mayCall(actor, tools.get(found.resource.tool)!.route);
}

/** The resource of an address, with the value of its parameter. */
function findResource(
  uri: string,
): { resource: Resource; params: Record<string, string> } | null {
  for (const resource of RESOURCES) {
    const { parameter } = resource;
    if (parameter === undefined) {
      if (resource.uri === uri) return { resource, params: {} };
      continue;
    }
    const start = resource.uri.slice(0, resource.uri.indexOf("{"));
    const rest = uri.startsWith(start) ? uri.slice(start.length) : "";
    if (!rest.includes("/") && Id.safeParse(rest).success) {
      return { resource, params: { [parameter]: rest } };
    }
  }
  return null;
}

function notFound({ era }: Exchange, uri: string): RpcError {
  const code = era === "legacy" ? CODES.resourceNotFound : CODES.invalidParams;
  return new RpcError(code, "Resource not found", { data: { uri }, fault: "NOT_FOUND" });
}
