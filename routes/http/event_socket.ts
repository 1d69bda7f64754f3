import { z } from "zod";
import type { Relay } from "../../core/relay.ts";
import type { Actor } from "../../core/identity/identity.ts";
import { Fault } from "../../core/fault/fault.ts";
import { mayRead, type Stream } from "../../core/events/events.ts";
import { resolveAgent } from "../call/resolve_agent.ts";
import { EVENTS_PROTOCOL, offeredProtocols } from "./protocols.ts";
import { filterOf, type StreamChoice, StreamQuery } from "../schemas/event_stream.ts";
import { SocketSink } from "./socket_sink.ts";
import { upgrade } from "./upgrade.ts";

/** The most time from the response to the open socket. */
const OPEN_MS = 5_000;
const FRAME_BYTES_MAX = 4 * 1024;
/** A client may resume once in this time; of the requests in between only the last counts. */
const REOPEN_MS = 1_000;

/** Asks to continue from another event, or with another filter. */
const Resume = z.strictObject({ type: z.literal("resume"), ...StreamQuery.shape });
const AnyResume = z.looseObject({ type: z.literal("resume") });
const Ping = z.looseObject({ type: z.literal("ping") });
/** The statuses of a resume frame with invalid fields, or with an agent's name that no agent has. */
const REFUSED = [400, 404];
const PONG = '{"type":"pong"}';
/** Sent for the first ignored frame only. */
const WARNING = JSON.stringify({
  type: "warning",
  id: null,
  data: {
    code: "unknown_frame",
    message: "Ignored a frame. This stream accepts JSON frames of type resume or ping.",
  },
});

/**
 * Serves `/ws` as a stream of events to an actor who was admitted. The actor's connection is given back when
 * the socket closes. Nothing is sent before `record` has recorded the opening.
 */
export function openEventSocket(
  relay: Relay,
  actor: Actor,
  request: Request,
  asked: StreamChoice,
  record: () => Promise<void>,
): Response {
  const { clock } = relay.ports;
  const { headers } = request;
  const protocol = offeredProtocols(headers).includes(EVENTS_PROTOCOL) ? EVENTS_PROTOCOL : null;
  relay.streams.mustHaveCapacity(actor);
  const { socket, response } = upgrade(request, protocol);
  leaveAtEnd(relay, actor, socket);
  const sink = new SocketSink(relay, socket);
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
    if (typeof data === "string" && data.length > FRAME_BYTES_MAX) {
      return sink.end("frame_too_large");
    }
    const frame = typeof data === "string" ? jsonOf(data) : null;
    if (Ping.safeParse(frame).success) return reply(PONG);
    if (!AnyResume.safeParse(frame).success) {
      if (!warned) reply(WARNING);
      warned = true;
      return;
    }
    const asked = Resume.safeParse(frame).data;
    if (asked === undefined) return sink.end("malformed_frame");
    const { type: _type, ...choice } = asked;
    reopen(choice);
  };
  socket.onerror = () => {};
  socket.onclose = () => {
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

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
