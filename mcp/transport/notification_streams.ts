import { Fault } from "../../core/fault/fault.ts";
import { acceptedOf } from "../../routes/call/accept.ts";
import type { Visit } from "../../routes/http/serve_service.ts";
import type { Exchange, Server } from "../exchange.ts";
import { notification, type Params, response } from "../json_rpc.ts";
import { listen } from "../listen.ts";
import type { Listener } from "../listeners.ts";
import { mayRead } from "../resources.ts";
import { writeResult } from "../result.ts";
import { META_SUBSCRIPTION } from "../revision.ts";
import { mustHaveSession } from "../sessions.ts";
import { EVENT_STREAM, openStream, type Stream, streamResponse } from "./event_stream.ts";

const notifyBy = (stream: Stream) => (method: string, params: Params) =>
  stream.send(notification(method, params));

/** Ends the stream, and so its timer, when opening it is refused. */
const endAndThrow = (stream: Stream) => (error: unknown): never => {
  stream.end();
  throw error;
};

/** `subscriptions/listen`: a stream of notifications that stays open. */
export async function listenStream(visit: Visit, exchange: Exchange): Promise<Response> {
  const stream = openStream(exchange.relay);
  const meta = { [META_SUBSCRIPTION]: exchange.id };
  const last = response(exchange.id, writeResult(exchange, { members: "", meta }));
  const stop = await listen(exchange, {
    notify: notifyBy(stream),
    end: () => stream.endForNow(last),
  }).catch(endAndThrow(stream));
  stream.onGone(stop);
  return streamResponse(visit, stream);
}

/** The stream of a session, in revisions up to 2025-11-25. @throws {Fault} NOT_ACCEPTABLE */
export async function sessionStream(server: Server, visit: Visit): Promise<Response> {
  const { relay, actor, request: { headers } } = visit;
  acceptedOf(headers.get("accept") ?? "*/*", [EVENT_STREAM]);
  const session = await mustHaveSession({ ...visit, headers });
  const stream = openStream(relay);
  const listener: Listener = {
    actor,
    session,
    async identifyAgain() {
      const now = await visit.identifyAgain();
      const before = listener.session;
      const open = await relay.mcpSessions.touch(now, session.id);
      if (open === null) throw new Fault("NOT_FOUND", "The session has ended.");
      // A change that the client made meanwhile is newer.
      if (listener.session === before) listener.session = open;
      return now;
    },
    wantsResource: (now, uri) =>
      (listener.session?.uris.includes(uri) ?? false) && mayRead(server, now, uri),
    wantsList: () => true,
    taskChanged: null,
    notify: notifyBy(stream),
    end: () => stream.endForNow(),
  };
  const stop = await server.listeners.add(listener).catch(endAndThrow(stream));
  stream.onGone(stop);
  return streamResponse(visit, stream);
}
