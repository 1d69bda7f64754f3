import { Fault } from "../core/fault/fault.ts";
import type { McpSessionRecord } from "../kv/records/mcp_session.ts";
import type { Relay } from "../core/relay.ts";
import type { Actor, RequestInfo } from "../core/identity/identity.ts";
import type { Exchange } from "./exchange.ts";
import { CODES, isObject, OLDER, RpcError } from "./json_rpc.ts";
import { textOf } from "./params.ts";
import { mayRead } from "./resources.ts";
import { type Result, resultOf } from "./result.ts";
import { CAPABILITIES, IDENTITY, INSTRUCTIONS } from "./server.ts";

const SUBSCRIPTIONS_MAX = 100;
const TEXT_CHARS_MAX = 200;
const CAPABILITIES_CHARS_MAX = 4_000;

/** A request that may name a session. */
interface SessionRequest {
  readonly relay: Relay;
  readonly actor: Actor;
  readonly info: RequestInfo;
  readonly headers: Headers;
}

/** The session that a request opened, for a header of its answer. */
const opened = new WeakMap<object, string>();

/** The id of the session that a request opened, if any. */
export const openedBy = (exchange: Exchange): string | undefined => opened.get(exchange.info);

/** `initialize`: agrees on a revision, and opens a session for a known caller. */
export async function initialize(exchange: Exchange): Promise<Result> {
  const { relay, actor, info, params } = exchange;
  const asked = textOf(exchange, "protocolVersion");
  const protocolVersion = OLDER.find((revision) => revision === asked) ?? OLDER[0];
  const capabilities = isObject(params.capabilities) ? params.capabilities : {};
  if (JSON.stringify(capabilities).length > CAPABILITIES_CHARS_MAX) {
    throw new RpcError(CODES.invalidParams, "`capabilities` is too large.");
  }
  // Anonymous callers must not fill the store with sessions.
  if (actor.kind !== "anonymous") {
    const client = clientOf(params.clientInfo);
    const session = await relay.mcpSessions.open({ actor, info }, {
      client,
      protocolVersion,
      capabilities,
    });
    opened.set(info, session.id);
  }
  return resultOf({
    protocolVersion,
    capabilities: { ...CAPABILITIES, logging: {} },
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
 * @throws {Fault} NOT_FOUND when it has ended
 */
export async function sessionOf(
  { relay, actor, headers }: SessionRequest,
): Promise<McpSessionRecord | null> {
  const id = headers.get("mcp-session-id");
  if (id === null) return null;
  const session = /^[\x21-\x7e]{1,128}$/.test(id) ? await relay.mcpSessions.touch(actor, id) : null;
  if (session !== null) return session;
  throw new Fault("NOT_FOUND", "There is no such session, or it has ended. Initialize a new one.");
}

/** Ends the session that a DELETE names. @throws {Fault} VALIDATION_FAILED, NOT_FOUND */
export async function endSession(request: SessionRequest): Promise<void> {
  const session = await mustHaveSession(request);
  const { relay, actor, info } = request;
  await relay.mcpSessions.close({ actor, info }, session.id);
}

/** @throws {Fault} VALIDATION_FAILED when none is named, NOT_FOUND when it has ended */
export async function mustHaveSession(request: SessionRequest): Promise<McpSessionRecord> {
  const session = await sessionOf(request);
  if (session !== null) return session;
  throw new Fault("VALIDATION_FAILED", "Send the session id in Mcp-Session-Id.", {
    issues: [{ path: "headers.mcp-session-id", message: "is missing" }],
  });
}

/** `resources/subscribe`: notifications go to the session's stream. */
export async function subscribe(exchange: Exchange): Promise<Result> {
  const { server, actor } = exchange;
  const uri = textOf(exchange, "uri");
  if (!mayRead(server, actor, uri)) {
    throw new RpcError(CODES.resourceNotFound, "Resource not found", { data: { uri } });
  }
  return await changeUris(exchange, (uris) => {
    const others = uris.filter((other) => other !== uri);
    if (others.length < SUBSCRIPTIONS_MAX) return [...others, uri];
    const why =
      `At most ${SUBSCRIPTIONS_MAX} resources can be subscribed to at once. Unsubscribe from ` +
      "one first.";
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
  const { relay, actor, server, session } = exchange;
  if (session === null) return { members: "" };
  const changed = await relay.mcpSessions.change(
    actor,
    session.id,
    ({ uris }) => ({ uris: change(uris) }),
  );
  if (changed !== null) server.listeners.sessionChanged(changed);
  return { members: "" };
}
