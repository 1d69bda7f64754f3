import type { OutputSink } from "../../core/agents/agents.ts";
import type { Relay } from "../../core/relay.ts";
import type { Actor, idsOf } from "../../core/identity/identity.ts";
import { Fault } from "../../core/fault/fault.ts";
import { mayRead, type Stream } from "../../core/events/events.ts";
import { resolveAgent } from "../call/resolve_agent.ts";
import { BATCHES_PROTOCOL, offeredProtocols, STREAM_PROTOCOLS } from "./protocols.ts";
import { filterOf, type StreamChoice } from "../schemas/event_stream.ts";
import { type Follow, readFrame } from "./event_frames.ts";
import { SocketOutputs } from "./socket_outputs.ts";
import { SocketSink } from "./socket_sink.ts";
import { upgrade } from "./upgrade.ts";

/** The most time from the response to the open socket. */
const OPEN_MS = 5_000;
/** A client may resume once in this time; of the requests in between only the last counts. */
const REOPEN_MS = 1_000;

/** The statuses of a resume frame with invalid fields, or with an agent's name that no agent has. */
const REFUSED = [400, 404];
const PONG = '{"type":"pong"}';
/** Sent for the first ignored frame only. */
const WARNING = JSON.stringify({
  type: "warning",
  id: null,
  data: {
    code: "unknown_frame",
    message: "Ignored a frame. This stream accepts JSON frames of type resume, follow, unfollow " +
      "or ping.",
  },
});

const INVALID_FOLLOW = "A follow frame has agent_id, command_id and from, a whole number of bytes.";

/** What the endpoint adds to an admitted stream. */
interface Opening {
  /** The ids of the request, for the log. */
  readonly ids: ReturnType<typeof idsOf>;
  /** Records the opening. Nothing is sent before. */
  readonly record: () => Promise<void>;
  /** Opens the output of a command for the actor as they are now. @throws {Fault} */
  readonly openOutput: (actor: Actor, follow: Follow, sink: OutputSink) => Promise<() => void>;
}

/**
 * Serves `/ws` as a stream of events, and of the outputs that the client follows, to an actor who was admitted. The
 * actor's connection is given back when the socket closes.
 */
export function openEventSocket(
  relay: Relay,
  actor: Actor,
  request: Request,
  asked: StreamChoice,
  { ids, openOutput, record }: Opening,
): Response {
  const { clock } = relay.ports;
  const { headers } = request;
  const offered = offeredProtocols(headers);
  const protocol = STREAM_PROTOCOLS.find((name) => offered.includes(name)) ?? null;
  relay.streams.mustHaveCapacity(actor);
  const { socket, response } = upgrade(request, protocol);
  leaveAtEnd(relay, actor, socket);
  const sink = new SocketSink(relay, socket, protocol === BATCHES_PROTOCOL);
  const begun = Promise.withResolvers<void>();
  const log = {
    error: (message: string, fields: object = {}) =>
      relay.ports.log.error(message, { ...ids, ...fields }),
  };
  const outputs = new SocketOutputs(sink, log, async (follow, output) => {
    await begun.promise;
    const now = await relay.authenticator.current(actor);
    if (now === null) throw new Fault("INVALID_TOKEN");
    return await openOutput(now, follow, output);
  });
  let stream: Stream | null = null;
  let warned = false;
  // Replies before the stream's `hello` wait for it: at most one pong and one warning.
  const waiting = new Set<string>();
  const reply = (text: string) => {
    if (stream === null) waiting.add(text);
    else sink.sendIfRead(text);
  };
  const open = async ({ last_event_id, ...filter }: StreamChoice) => {
    const before = stream;
    stream = null;
    if (before !== null) relay.streams.leave(before);
    // Rights may have ended since the handshake, and the next check of them is a moment away.
    const now = await relay.authenticator.current(actor);
    if (now === null) return sink.end("credential_ended");
    if (!mayRead(now)) return sink.end("rights_lost");
    const named = { params: {}, query: filter, body: {} };
    await resolveAgent(relay, now, "agent_id", named);
    const from = last_event_id ?? null;
    stream = await relay.streams.open(now, filterOf(named.query), from, sink);
    waiting.forEach((text) => sink.sendIfRead(text));
    waiting.clear();
    begun.resolve();
  };
  let turn: Promise<void> = Promise.resolve();
  // At most one request is under way and one waits; a newer one replaces the one that waits.
  let wanted: StreamChoice | null = null;
  let mayReopenMs = 0;
  const reopen = (choice: StreamChoice) => {
    const waits = wanted !== null;
    wanted = choice;
    if (waits) return;
    turn = turn.then(async () => {
      const waitMs = mayReopenMs - clock.now();
      if (waitMs > 0) await clock.sleep(waitMs);
      const next = wanted!;
      wanted = null;
      // The first resume is served at once.
      if (stream !== null) mayReopenMs = clock.now() + REOPEN_MS;
      if (socket.readyState === WebSocket.OPEN) await open(next);
    }).catch((error) =>
      sink.end(
        error instanceof Fault && REFUSED.includes(error.status)
          ? "malformed_frame"
          : "interrupted",
      )
    );
  };
  socket.onopen = () => {
    turn = record();
    reopen(asked);
  };
  socket.onmessage = ({ data }) => {
    const frame = readFrame(data);
    switch (frame.type) {
      case "ping":
        return reply(PONG);
      case "resume":
        return reopen(frame.choice);
      case "follow":
        outputs.follow(frame.follow);
        return;
      case "unfollow":
        return outputs.unfollow(frame.command_id);
      case "invalid_follow":
        return outputs.refuse(frame.command_id, new Fault("VALIDATION_FAILED", INVALID_FOLLOW));
      case "unknown_frame":
        if (!warned) reply(WARNING);
        warned = true;
        return;
      default:
        return sink.end(frame.type);
    }
  };
  socket.onerror = () => {};
  socket.onclose = () => {
    outputs.close();
    turn = turn.finally(() => stream && relay.streams.leave(stream));
  };
  return response;
}

/** Gives the connection back once: a socket whose client left before the upgrade never opens and never closes. */
function leaveAtEnd(relay: Relay, actor: Actor, socket: WebSocket): void {
  let over = false;
  const leave = () => {
    if (!over) relay.limiter.leave(actor);
    over = true;
  };
  const giveUp = relay.ports.clock.after(OPEN_MS, leave);
  socket.addEventListener("open", giveUp, { once: true });
  socket.addEventListener("close", leave, { once: true });
}
