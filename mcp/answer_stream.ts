import { headersOf } from "../routes/http/answer.ts";
import type { Visit } from "../routes/http/serve_service.ts";
import type { Exchange, Sink } from "./exchange.ts";
import { CODES, inSession, type Params, type Reply, RpcError } from "./rpc.ts";
import type { Server } from "./exchange.ts";
import { EVENT_STREAM, openStream, type Stream } from "./stream.ts";

/** How long a client's user may take for an answer. */
const ASK_MS = 10 * 60 * 1000;
/** How often it is looked whether the caller may still have what comes: lost rights end it within 1 s. */
const LOOK_MS = 500;

/** A response whose body is a stream. */
export function streamResponse({ envelope, stays }: Visit, stream: Stream): Response {
  stays();
  const headers = {
    ...headersOf(envelope),
    "content-type": EVENT_STREAM,
    "cache-control": "no-store",
    // Proxies that collect answers would keep events back.
    "x-accel-buffering": "no",
  };
  return new Response(stream.body, { headers });
}

/**
 * Answers by a stream that `work` fills, and ends it with what that gives, or with what `refusal` gives
 * once the caller may not have it any more.
 */
export function openAnswer(
  visit: Visit,
  { server, relay, session }: Exchange,
  work: (sink: Sink) => Promise<string>,
  refusal: () => Promise<string | null>,
): Response {
  const stream = openStream(relay, (method, params, own) => {
    if (session === null) throw new TypeError("a client without a session cannot be asked");
    return ask(server, session.id, method, params, own);
  });
  const look = async () => {
    const text = await refusal();
    if (text !== null) stream.end(text);
    else if (stream.open) cancelLook = relay.ports.clock.after(LOOK_MS, look);
  };
  let cancelLook = relay.ports.clock.after(LOOK_MS, look);
  stream.onGone(() => cancelLook());
  work(stream).then((text) => {
    cancelLook();
    stream.end(text);
  });
  return streamResponse(visit, stream);
}

/** Asks a client something on the stream of its own request; the reply comes by another request. */
function ask(
  server: Server,
  session: string,
  method: string,
  params: Params,
  stream: Pick<Stream, "send" | "onGone">,
): Promise<unknown> {
  const { entropy, clock } = server.relay.ports;
  const id = entropy.uuid();
  const key = inSession(session, id);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const fail = (why: string) => reject(new RpcError(CODES.internalError, why));
  const cancel = clock.after(ASK_MS, () => fail("The client did not answer in time."));
  stream.onGone(() => fail("The client went away."));
  server.asked.set(key, ({ result, error }: Reply) => {
    if (error === undefined) resolve(result);
    else fail(`The client refused: ${String(error.message)}`);
  });
  stream.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  return promise.finally(() => {
    cancel();
    server.asked.delete(key);
  });
}
