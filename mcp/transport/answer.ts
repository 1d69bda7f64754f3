import type { z } from "zod";
import { Fault } from "../../core/fault/fault.ts";
import { copyInfo } from "../../core/identity/identity.ts";
import { recordUse } from "../../routes/call/records.ts";
import { headersOf, okJson } from "../../routes/http/answer.ts";
import type { Visit } from "../../routes/http/serve_service.ts";
import type { Exchange, Method, Server } from "../exchange.ts";
import { inSession, isId, type Message, response } from "../json_rpc.ts";
import { methodOf } from "../methods.ts";
import { type Result, writeResult } from "../result.ts";
import { checkModern, eraOf } from "../revision.ts";
import { openedBy, sessionOf } from "../sessions.ts";
import type { McpQuery } from "../tools.ts";
import { answerByStream } from "./answer_stream.ts";
import { EVENT_STREAM, eventOf } from "./event_stream.ts";
import { listenStream } from "./notification_streams.ts";

/** A longer name of a call is not sent to other instances. */
const CALL_CHARS_MAX = 1_000;

/** Answers one message, by JSON or by a stream of events. */
export async function answer(
  server: Server,
  visit: Visit,
  message: Message,
  alwaysStreams: boolean,
): Promise<Response> {
  const { relay, actor, request: { headers }, info, envelope } = visit;
  const era = eraOf(headers, message);
  const session = era === "legacy" ? await sessionOf({ ...visit, headers }) : null;
  const capabilities = era === "modern"
    ? checkModern(headers, message)
    : session?.capabilities ?? {};
  const { id, params } = message;
  if (id === null) {
    if (session !== null) cancelCall(server, session.id, message);
    return new Response(null, { status: 202, headers: headersOf(envelope) });
  }
  const listens = era === "modern" && message.method === "subscriptions/listen";
  const method = listens ? null : methodOf(server.methods, message, era);
  if (!method?.anonymous && actor.kind === "anonymous") throw new Fault("MISSING_CREDENTIALS");
  const exchange: Exchange = {
    server,
    relay,
    actor,
    info,
    era,
    id,
    method: message.method,
    params,
    headers,
    toolSet: (visit.query as z.output<typeof McpQuery>).tools,
    capabilities,
    session,
    sink: null,
    identifyAgain: visit.identifyAgain,
  };
  // A stream outlives its request, whose values cannot be looked up later.
  if (method === null) {
    return await listenStream(visit, { ...exchange, info: copyInfo(info) });
  }
  const admission = method.admit?.(exchange);
  if (admission) await admission;
  const notifies = method.streams?.(exchange) ?? false;
  const streams = alwaysStreams || prefersStream(headers, notifies);
  if (streams && notifies) {
    return answerByStream(visit, method, { ...exchange, info: copyInfo(info) }, run);
  }
  const text = response(id, writeResult(exchange, await run(method, exchange)));
  const answered = answerHeaders(exchange, visit);
  if (!streams) return okJson(text, answered);
  return new Response(eventOf(text), { headers: { ...answered, "content-type": EVENT_STREAM } });
}

/** Cancels the call of a session that a notification names, at whichever instance it is under way. */
function cancelCall(server: Server, session: string, { method, params }: Message): void {
  const { requestId } = params;
  if (method !== "notifications/cancelled" || !isId(requestId)) return;
  const call = inSession(session, requestId), cancel = server.cancellations.get(call);
  if (cancel !== undefined) cancel();
  else if (call.length <= CALL_CHARS_MAX) server.relay.signals.mcpCallCancelled.send({ call });
}

/** Runs a method, and records the use of a key unless the method does. */
const run = (method: Method, exchange: Exchange): Result | Promise<Result> =>
  method.recorded ? method.answer(exchange) : answerAndRecord(method, exchange);

async function answerAndRecord(method: Method, exchange: Exchange): Promise<Result> {
  const result = await method.answer(exchange);
  const endpoint = { method: "POST", path: `/mcp#${exchange.method}` } as const;
  await recordUse(exchange.relay, endpoint, exchange.actor, exchange.info, 200);
  return result;
}

/** True for a client that accepts events only, or accepts both where the method sends notifications. */
function prefersStream(headers: Headers, notifies: boolean): boolean {
  const accept = headers.get("accept") ?? "";
  return accept.includes(EVENT_STREAM) && (notifies || !accept.includes("application/json"));
}

function answerHeaders(exchange: Exchange, visit: Visit): Record<string, string> {
  const headers = headersOf(visit.envelope);
  const session = openedBy(exchange);
  if (session !== undefined) headers["mcp-session-id"] = session;
  return headers;
}
