import {
  changeSession,
  closeSession,
  openSession,
  touchSession,
} from "../core/access/mcp_sessions.ts";
import { Fault } from "../core/fault/fault.ts";
import type { McpSessionRecord } from "../kv/records/mcp_session.ts";
import type { Visit } from "../routes/http/serve_service.ts";
import { type Exchange, type Result, resultOf, textOf } from "./exchange.ts";
import { mayRead } from "./listen.ts";
import { CODES, isObject, OLDER, RpcError } from "./rpc.ts";
import { capabilitiesOf, IDENTITY, INSTRUCTIONS } from "./server.ts";

const SUBSCRIPTIONS_MAX = 100;
const TEXT_CHARS_MAX = 200;
const CAPABILITIES_CHARS_MAX = 4_000;

/** Sessions that were opened by the request of an exchange, for the header of its answer. */
const opened = new WeakMap<object, string>();

/** The id of the session that a request has opened, if it has. */
export const openedBy = (exchange: Exchange): string | undefined => opened.get(exchange.info);

/** `initialize`: agrees on a revision; who is known gets a session. */
export async function initialize(exchange: Exchange): Promise<Result> {
  const { relay, actor, info, params, server } = exchange;
  const asked = textOf(exchange, "protocolVersion");
  const protocolVersion = OLDER.find((revision) => revision === asked) ?? OLDER[0];
  const capabilities = isObject(params.capabilities) ? params.capabilities : {};
  if (JSON.stringify(capabilities).length > CAPABILITIES_CHARS_MAX) {
    throw new RpcError(CODES.invalidParams, "`capabilities` is too large.");
  }
  // Nobody in particular needs no session, and must not fill the store with them.
  if (actor.kind !== "anonymous" || server.extension !== null) {
    const client = clientOf(params.clientInfo);
    const session = await openSession({ app: relay, actor, info }, {
      client,
      protocolVersion,
      capabilities,
    });
    opened.set(info, session.id);
  }
  return resultOf({
    protocolVersion,
    capabilities: { ...capabilitiesOf(server), logging: {} },
    serverInfo: IDENTITY,
    instructions: INSTRUCTIONS,
  });
}

function clientOf(info: unknown): McpSessionRecord["client"] {
  if (!isObject(info)) return null;
  const text = (value: unknown) =>
    typeof value === "string" ? value.slice(0, TEXT_CHARS_MAX).toWellFormed() : "";
  return { name: text(info.name), version: text(info.version) };
}

/**
 * The session that a request names; null when it names none.
 * @throws {Fault} NOT_FOUND when it is over
 */
export async function sessionOf(
  { relay, actor, request }: Visit,
): Promise<McpSessionRecord | null> {
  const id = request.headers.get("mcp-session-id");
  if (id === null) return null;
  const session = /^[\x21-\x7e]{1,128}$/.test(id)
    ? await touchSession({ app: relay, actor }, id)
    : null;
  if (session !== null) return session;
  throw new Fault("NOT_FOUND", "This session is over, or never was. Initialize again.");
}

/** Ends the session that a DELETE names. @throws {Fault} VALIDATION_FAILED, NOT_FOUND */
export async function endSession(visit: Visit): Promise<void> {
  const session = await mustHaveSession(visit);
  await closeSession({ app: visit.relay, actor: visit.actor, info: visit.info }, session.id);
}

/** @throws {Fault} VALIDATION_FAILED when none is named, NOT_FOUND when it is over */
export async function mustHaveSession(visit: Visit): Promise<McpSessionRecord> {
  const session = await sessionOf(visit);
  if (session !== null) return session;
  throw new Fault("VALIDATION_FAILED", "Send the session in Mcp-Session-Id.", {
    issues: [{ path: "headers.mcp-session-id", message: "is missing" }],
  });
}

/** `resources/subscribe`: changes are told on the session's stream. */
export async function subscribe(exchange: Exchange): Promise<Result> {
  const { server, actor } = exchange;
  const uri = textOf(exchange, "uri");
  if (!mayRead(server, actor, uri)) {
    throw new RpcError(CODES.resourceNotFound, "Resource not found", { data: { uri } });
  }
  return await changeUris(exchange, (uris) => {
    const others = uris.filter((other) => other !== uri);
    if (others.length < SUBSCRIPTIONS_MAX) return [...others, uri];
    const why = `At most ${SUBSCRIPTIONS_MAX} resources can be subscribed to.`;
    throw new RpcError(CODES.invalidParams, why);
  });
}

/** `resources/unsubscribe`. */
export function unsubscribe(exchange: Exchange): Promise<Result> {
  const uri = textOf(exchange, "uri");
  return changeUris(exchange, (uris) => uris.filter((other) => other !== uri));
}

async function changeUris(
  exchange: Exchange,
  change: (uris: readonly string[]) => string[],
): Promise<Result> {
  const { server, session } = exchange;
  if (session === null) return { members: "" };
  const changed = await changeSession(
    { app: exchange.relay, actor: exchange.actor },
    session.id,
    ({ uris }) => ({ uris: change(uris) }),
  );
  if (changed !== null) server.listeners.sessionChanged(changed);
  return { members: "" };
}
