import type { z } from "zod";
import { Fault } from "../../core/fault/fault.ts";
import { checkIdempotencyKey } from "../../core/work/work.ts";
import { headersOf } from "../../routes/http/answer.ts";
import { BODY_BYTES_MAX, mustBeJsonType, readText } from "../../routes/http/body.ts";
import { OPEN_BODY_BYTES_MAX } from "../../routes/http/open_body.ts";
import { mustBeAllowedOrigin } from "../../routes/http/origin.ts";
import type { Visit } from "../../routes/http/serve_service.ts";
import type { Server } from "../exchange.ts";
import { CODES, type Message, parseMessage, type Reply, RpcError } from "../json_rpc.ts";
import { endSession, sessionOf } from "../sessions.ts";
import type { McpQuery } from "../tools.ts";
import { answer } from "./answer.ts";
import { sessionStream } from "./notification_streams.ts";
import { refuse } from "./refusal.ts";

/** Handles a request to one of the protocol's paths. */
export function handle(server: Server, visit: Visit, alwaysStreams: boolean): Promise<Response> {
  mustBeAllowedOrigin(visit.relay, visit.request);
  const { sign_in } = visit.query as z.output<typeof McpQuery>;
  if (sign_in === "required" && visit.actor.kind === "anonymous") {
    throw new Fault("MISSING_CREDENTIALS");
  }
  return visit.request.method === "POST"
    ? post(server, visit, alwaysStreams)
    : streamOrEnd(server, visit);
}

/** GET opens a session's stream and DELETE ends a session, in revisions up to 2025-11-25. */
async function streamOrEnd(server: Server, visit: Visit): Promise<Response> {
  const { headers, method } = visit.request;
  if (headers.get("mcp-protocol-version")?.startsWith("2026")) {
    throw new Fault("METHOD_NOT_ALLOWED", "This protocol revision accepts only POST.", {
      allow: ["POST"],
    });
  }
  if (method === "GET") return await sessionStream(server, visit);
  await endSession({ ...visit, headers });
  return new Response(null, { status: 204, headers: headersOf(visit.envelope) });
}

async function post(server: Server, visit: Visit, alwaysStreams: boolean): Promise<Response> {
  const { relay, request, info } = visit;
  mustBeJsonType(relay, request);
  if (info.idempotencyKey !== null) checkIdempotencyKey(info.idempotencyKey);
  const bytesMax = visit.actor.kind === "anonymous" ? OPEN_BODY_BYTES_MAX : BODY_BYTES_MAX;
  let read: Message | Reply | null = null;
  try {
    read = await parseMessage(await readText(relay, request, { bytesMax }).catch(throwParseError));
    // Rights may end while a client holds its body back.
    const now = { ...visit, actor: await visit.identifyAgain() };
    if (!("method" in read)) return await refuseReply(now);
    return await answer(server, now, read, alwaysStreams);
  } catch (error) {
    // A fault before the message is read has the error object of the interface.
    if (read === null && error instanceof Fault) throw error;
    return refuse(visit, error, read !== null && "method" in read ? read.id : null);
  }
}

/** @throws {RpcError} parseError for a body that is not UTF-8 or breaks off, and {Fault} unchanged otherwise */
function throwParseError(error: unknown): never {
  if (!(error instanceof Fault) || error.code !== "VALIDATION_FAILED") throw error;
  throw new RpcError(CODES.parseError, error.message, { status: 400 });
}

/** A relay sends its clients no requests, so no reply is expected. @throws {RpcError} invalidRequest */
async function refuseReply(visit: Visit): Promise<never> {
  await sessionOf({ ...visit, headers: visit.request.headers });
  throw new RpcError(CODES.invalidRequest, "No server request awaits a response.", {
    status: 400,
  });
}
