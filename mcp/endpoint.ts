import type { Relay } from "../core/start.ts";
import { checkIdempotencyKey } from "../core/commands/idempotency_key.ts";
import { Fault } from "../core/fault/fault.ts";
import { faultOf } from "../routes/call/fault_of.ts";
import { recordUse } from "../routes/call/records.ts";
import { headersOf, okJson } from "../routes/http/answer.ts";
import { refusalHeaders } from "../routes/http/refusal.ts";
import { BODY_BYTES_MAX, mustBeJsonType, readText } from "../routes/http/body.ts";
import { OPEN_BODY_BYTES_MAX } from "../routes/http/open_body.ts";
import type { Service, Visit } from "../routes/http/serve_service.ts";
import type { Route } from "../routes/call/route.ts";
import { openAnswer } from "./answer_stream.ts";
import { challenge, metadataServices } from "./discovery.ts";
import { copyInfo, type Exchange, type Result, type Sink, writeResult } from "./exchange.ts";
import { checkModern, eraOf } from "./headers.ts";
import { hear, listenStream } from "./hearing.ts";
import { type Method, methodOf } from "./methods.ts";
import { checkOrigin } from "./origin.ts";
import {
  bugText,
  CODES,
  inSession,
  isId,
  type Message,
  parseMessage,
  refusalOf,
  type Reply,
  response,
  RpcError,
} from "./rpc.ts";
import { type Extend, makeServer } from "./server.ts";
import type { Server } from "./exchange.ts";
import { endSession, openedBy, sessionOf } from "./sessions.ts";
import { EVENT_STREAM, eventOf } from "./stream.ts";

/** Where the protocol is spoken. */
export const MCP_PATHS = ["/mcp", "/mcp/stream"] as const;

/** The protocol's endpoints, and how they end their open streams. */
export interface Mcp {
  readonly services: readonly Service[];
  readonly close: () => void;
}

/** Serves the routes that are tools by the Model Context Protocol. */
export function serveMcp(
  relay: Relay,
  routes: readonly Route[],
  extend: Extend | null = null,
): Mcp {
  const server = makeServer(relay, routes, extend);
  const at = (path: typeof MCP_PATHS[number], alwaysStreams: boolean): Service => ({
    path,
    methods: ["POST", "GET", "DELETE"],
    call: "mcp",
    challenge: (relay, request) => challenge(relay, request, { error: "invalid_token" }),
    handle: (visit) => handle(server, visit, alwaysStreams),
  });
  return {
    services: [at("/mcp", false), at("/mcp/stream", true), ...metadataServices(MCP_PATHS)],
    close: () => server.listeners.close(),
  };
}

function handle(server: Server, visit: Visit, alwaysStreams: boolean): Promise<Response> {
  const { relay, request } = visit;
  checkOrigin(relay, request);
  return request.method === "POST" ? post(server, visit, alwaysStreams) : hearOrEnd(server, visit);
}

/** What older revisions have beside POST. */
async function hearOrEnd(server: Server, visit: Visit): Promise<Response> {
  const { request } = visit;
  if (request.headers.get("mcp-protocol-version")?.startsWith("2026")) {
    throw new Fault("METHOD_NOT_ALLOWED", "This revision takes POST.", { allow: ["POST"] });
  }
  if (request.method === "GET") return await hear(server, visit);
  await endSession(visit);
  return new Response(null, { status: 204, headers: headersOf(visit.envelope) });
}

async function post(server: Server, visit: Visit, alwaysStreams: boolean): Promise<Response> {
  const { relay, request } = visit;
  mustBeJsonType(relay, request);
  if (visit.info.idempotencyKey !== null) checkIdempotencyKey(visit.info.idempotencyKey);
  const bytesMax = visit.actor.kind === "anonymous" ? OPEN_BODY_BYTES_MAX : BODY_BYTES_MAX;
  let read: Message | Reply | null = null;
  try {
    read = await parseMessage(await readText(relay, request, { bytesMax }).catch(unread));
    // Whoever holds a body back gets no more from it than the rights of when it was there.
    const now = { ...visit, actor: await visit.identifyAgain() };
    if (!("method" in read)) return await takeReply(server, now, read);
    return await answer(server, now, read, alwaysStreams);
  } catch (error) {
    // Until the body is there, a fault has the error object of the interface.
    if (read === null && error instanceof Fault) throw error;
    return refuse(visit, error, read !== null && "method" in read ? read.id : null);
  }
}

/** @throws {Fault} PAYLOAD_TOO_LARGE, and {RpcError} parseError */
function unread(error: unknown): never {
  if (!(error instanceof Fault) || error.code !== "VALIDATION_FAILED") throw error;
  throw new RpcError(CODES.parseError, error.message, { status: 400 });
}

async function answer(
  server: Server,
  visit: Visit,
  message: Message,
  alwaysStreams: boolean,
): Promise<Response> {
  const { relay, actor, request, info, envelope } = visit;
  const { headers } = request;
  const era = eraOf(headers, message);
  const session = era === "legacy" ? await sessionOf(visit) : null;
  const capabilities = era === "modern"
    ? checkModern(headers, message)
    : session?.capabilities ?? {};
  if (message.id === null) {
    if (session !== null) hearCancellation(server, session.id, message);
    return new Response(null, { status: 202, headers: headersOf(envelope) });
  }
  const listens = era === "modern" && message.method === "subscriptions/listen";
  const method = listens ? null : methodOf(message, era);
  if (!method?.anonymous && actor.kind === "anonymous" && server.extension === null) {
    throw new Fault("MISSING_CREDENTIALS");
  }
  const base: Exchange = {
    server,
    relay,
    actor,
    info,
    era,
    id: message.id,
    method: message.method,
    params: message.params,
    headers,
    capabilities,
    session,
    sink: null,
    identifyAgain: visit.identifyAgain,
  };
  if (method === null) return await listenStream(visit, lasting(base));
  const admission = method.admit?.(base);
  if (admission) await admission;
  const tells = method.streams?.(base) ?? false;
  const streams = alwaysStreams || prefersStream(headers, tells);
  if (streams && tells) {
    const exchange = lasting(base);
    return openAnswer(
      visit,
      exchange,
      (sink) => runInStream(method, visit, exchange, sink),
      () => refusalNow(method, visit, exchange),
    );
  }
  const text = response(message.id, writeResult(base, await run(method, base)));
  const answered = answerHeaders(base, visit);
  if (!streams) return okJson(text, answered);
  return new Response(eventOf(text), { headers: { ...answered, "content-type": EVENT_STREAM } });
}

/** An exchange that may go on when its client has gone, and nothing can be looked up any more. */
const lasting = (exchange: Exchange): Exchange => ({
  ...exchange,
  info: copyInfo(exchange.info),
});

/** Ends what a client with a session wants no more. */
function hearCancellation(server: Server, session: string, { method, params }: Message): void {
  const { requestId } = params;
  if (method !== "notifications/cancelled" || !isId(requestId)) return;
  server.cancellations.get(inSession(session, requestId))?.();
}

/** Answers, and puts the use of a key on record. */
const run = (method: Method, exchange: Exchange): Result | Promise<Result> =>
  method.recorded ? method.answer(exchange) : answerAndRecord(method, exchange);

async function answerAndRecord(method: Method, exchange: Exchange): Promise<Result> {
  const result = await method.answer(exchange);
  const endpoint = { method: "POST", path: `/mcp#${exchange.method}` } as const;
  await recordUse(exchange.relay, endpoint, exchange.actor, exchange.info, 200);
  return result;
}

async function runInStream(
  method: Method,
  visit: Visit,
  base: Exchange,
  sink: Sink,
): Promise<string> {
  const exchange = { ...base, sink };
  try {
    return response(base.id, writeResult(exchange, await run(method, exchange)));
  } catch (error) {
    return tell(visit, error, base.id).text;
  }
}

/** What a caller is told who may not go on; null for who may, or when that cannot be found out now. */
async function refusalNow(method: Method, visit: Visit, base: Exchange): Promise<string | null> {
  try {
    await method.admit?.({ ...base, actor: await visit.identifyAgain() });
    return null;
  } catch (error) {
    const status = faultOf(error)?.status;
    if (status === 401 || status === 403) return tell(visit, error, base.id).text;
    visit.relay.ports.log.warn("a caller could not be checked", { error: String(error) });
    return null;
  }
}

/** True for who takes events only, or takes both where events tell more. */
function prefersStream(headers: Headers, tells: boolean): boolean {
  const accept = headers.get("accept") ?? "";
  return accept.includes(EVENT_STREAM) && (tells || !accept.includes("application/json"));
}

function answerHeaders(exchange: Exchange, visit: Visit): Record<string, string> {
  const headers = headersOf(visit.envelope);
  const session = openedBy(exchange);
  if (session !== undefined) headers["mcp-session-id"] = session;
  return headers;
}

/** A client's reply to what it was asked. */
async function takeReply(
  server: Server,
  visit: Visit,
  reply: Reply,
): Promise<Response> {
  const session = await sessionOf(visit);
  const taker = session && server.asked.get(inSession(session.id, reply.id));
  if (!taker) throw new RpcError(CODES.invalidRequest, "Nothing was asked.", { status: 400 });
  taker(reply);
  return new Response(null, { status: 202, headers: headersOf(visit.envelope) });
}

function refuse(visit: Visit, error: unknown, id: Message["id"]): Response {
  const { text, status } = tell(visit, error, id);
  const fault = faultOf(error);
  const headers = refusalHeaders(visit.envelope, fault);
  const required = fault?.details.required;
  const scopes = Array.isArray(required) && required.length > 0 ? { scopes: required } : {};
  const more = fault?.code === "INSUFFICIENT_SCOPES"
    ? { error: "insufficient_scope", ...scopes }
    : scopes;
  if (status === 401 || fault?.code === "INSUFFICIENT_SCOPES") {
    headers["www-authenticate"] = challenge(visit.relay, visit.request, more);
  }
  return new Response(text, { status, headers });
}

/** What a caller is told of an error; a bug is logged. */
function tell(
  { relay, info }: Visit,
  error: unknown,
  id: Message["id"],
): { text: string; status: number } {
  const refusal = refusalOf(faultOf(error) ?? error, id, info.id);
  if (refusal !== null) return refusal;
  relay.ports.log.error("an MCP request failed by a bug", {
    request_id: info.id,
    error: error instanceof Error ? error.stack : String(error),
  });
  return { text: bugText(id, info.id), status: 500 };
}
