import { touchSession } from "../core/access/mcp_sessions.ts";
import { Fault } from "../core/fault/fault.ts";
import { acceptedOf } from "../routes/call/accept.ts";
import type { Visit } from "../routes/http/serve_service.ts";
import { streamResponse } from "./answer_stream.ts";
import { type Exchange, writeResult } from "./exchange.ts";
import { META_SUBSCRIPTION } from "./headers.ts";
import { listen, mayRead } from "./listen.ts";
import type { Listener } from "./listeners.ts";
import { response } from "./rpc.ts";
import type { Server } from "./exchange.ts";
import { mustHaveSession } from "./sessions.ts";
import { EVENT_STREAM, openStream, type Stream } from "./stream.ts";

const nobodyToAsk = () => Promise.reject(new TypeError("this stream asks nothing"));

/** Who is refused gets another answer: the stream that was opened for them must not keep its timer. */
const refusing = (stream: Stream) => (error: unknown): never => {
  stream.end();
  throw error;
};

/** `subscriptions/listen`: a stream that stays open. */
export async function listenStream(visit: Visit, exchange: Exchange): Promise<Response> {
  const stream = openStream(exchange.relay, nobodyToAsk);
  const meta = { [META_SUBSCRIPTION]: exchange.id };
  const last = response(exchange.id, writeResult(exchange, { members: "", meta }));
  const stop = await listen(exchange, { notify: stream.notify, end: () => stream.endForNow(last) })
    .catch(refusing(stream));
  stream.onGone(stop);
  return streamResponse(visit, stream);
}

/** The stream of a session, as revisions up to 2025-11-25 have it. @throws {Fault} NOT_ACCEPTABLE */
export async function hear(server: Server, visit: Visit): Promise<Response> {
  const { relay, actor, request } = visit;
  acceptedOf(request.headers.get("accept") ?? "*/*", [EVENT_STREAM]);
  const session = await mustHaveSession(visit);
  const stream = openStream(relay, nobodyToAsk);
  const listener: Listener = {
    actor,
    session,
    async identifyAgain() {
      const now = await visit.identifyAgain();
      const before = listener.session;
      const open = await touchSession({ app: relay, actor: now }, session.id);
      if (open === null) throw new Fault("NOT_FOUND", "The session is over.");
      // What its client changed meanwhile is newer.
      if (listener.session === before) listener.session = open;
      return now;
    },
    wantsResource: (now, uri) =>
      (listener.session?.uris.includes(uri) ?? false) && mayRead(server, now, uri),
    wantsList: () => true,
    tellTask: null,
    notify: stream.notify,
    end: () => stream.endForNow(),
  };
  const stop = await server.listeners.add(listener).catch(refusing(stream));
  stream.onGone(stop);
  return streamResponse(visit, stream);
}
