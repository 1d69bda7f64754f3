import { z } from "zod";
import type { Actor, App } from "../../core/work/work.ts";
import { currentActor } from "../../core/access/authenticate.ts";
import { Fault } from "../../core/fault/fault.ts";
import { reconnectDelayMs, STREAM_ENDS, type StreamEnd } from "../../core/events/streams/ends.ts";
import type { Message } from "../../core/events/streams/message.ts";
import { mayRead } from "../../core/events/streams/streams.ts";
import type { Sink, Stream } from "../../core/events/streams/stream.ts";
import { EVENTS_PROTOCOL, offeredProtocols } from "./protocols.ts";
import { filterOf, type StreamChoice, StreamQuery } from "../events.ts";
import { upgrade } from "./upgrade.ts";

/** How long a handshake may take. */
const OPEN_MS = 5_000;
const FRAME_BYTES_MAX = 4 * 1024;
const DRAIN_POLL_MS = 20;
/** A client may begin again this often; of what it asks for meanwhile only the last counts. */
const REOPEN_MS = 1_000;
/** Below this a client counts as having taken all. */
const DRAINED_BYTES = 16 * 1024;

/** A client's wish to go on from another place, or with another filter. */
const Resume = z.strictObject({ type: z.literal("resume"), ...StreamQuery.shape });
const AnyResume = z.looseObject({ type: z.literal("resume") });
const Ping = z.looseObject({ type: z.literal("ping") });
const PONG = '{"type":"pong"}';
/** Sent for the first frame that is ignored; those after it are ignored in silence. */
const WARNING = JSON.stringify({
  type: "warning",
  id: null,
  data: {
    code: "unknown_frame",
    message: "A frame was ignored: this stream takes JSON frames of the types resume and ping.",
  },
});

/**
 * `/ws` as a stream of events, for an actor who was admitted; once it is open, the connection is given
 * back at its end. `record` puts the opening on record, which nothing is sent before.
 */
export function openEventSocket(
  app: App,
  actor: Actor,
  request: Request,
  asked: StreamChoice,
  record: () => Promise<void>,
): Response {
  const { clock } = app.ports;
  const { headers } = request;
  const protocol = offeredProtocols(headers).includes(EVENTS_PROTOCOL) ? EVENTS_PROTOCOL : null;
  app.streams.mustHaveCapacity(actor);
  const { socket, response } = upgrade(request, protocol);
  leaveAtEnd(app, actor, socket);
  const sink = new SocketSink(app, socket);
  let stream: Stream | null = null;
  let warned = false;
  // What is said before the stream's `hello` waits for it: at most one pong and one warning.
  const waiting = new Set<string>();
  const say = (text: string) => {
    if (stream === null) waiting.add(text);
    else sink.say(text);
  };
  const open = async ({ last_event_id, ...filter }: StreamChoice) => {
    const before = stream;
    stream = null;
    if (before !== null) app.streams.leave(before);
    // Rights may have gone since the handshake, and the next look at them is a moment away.
    const now = await currentActor(app, actor);
    if (now === null) return sink.end("credential_ended");
    if (!mayRead(now)) return sink.end("rights_lost");
    stream = await app.streams.open(now, filterOf(filter), last_event_id ?? null, sink);
    waiting.forEach((text) => sink.say(text));
    waiting.clear();
  };
  let turn: Promise<void> = Promise.resolve();
  // One is under way and one waits at most: of several that wait only the last one matters.
  let wanted: StreamChoice | null = null;
  let mayReopenMs = 0;
  const reopen = (what: StreamChoice) => {
    const waits = wanted !== null;
    wanted = what;
    if (waits) return;
    turn = turn.then(async () => {
      const waitMs = mayReopenMs - clock.now();
      if (waitMs > 0) await clock.sleep(waitMs);
      const next = wanted!;
      wanted = null;
      // The first that a client asks for comes at once.
      if (stream !== null) mayReopenMs = clock.now() + REOPEN_MS;
      if (socket.readyState === WebSocket.OPEN) await open(next);
    }).catch((error) =>
      sink.end(error instanceof Fault && error.status === 400 ? "malformed_frame" : "interrupted")
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
    if (Ping.safeParse(frame).success) return say(PONG);
    if (!AnyResume.safeParse(frame).success) {
      if (!warned) say(WARNING);
      warned = true;
      return;
    }
    const asked = Resume.safeParse(frame).data;
    if (asked === undefined) return sink.end("malformed_frame");
    const { type: _type, ...what } = asked;
    reopen(what);
  };
  socket.onerror = () => {};
  socket.onclose = () => {
    turn = turn.finally(() => stream && app.streams.leave(stream));
  };
  return response;
}

/** A client that went away before the upgrade leaves a socket that neither opens nor closes. */
function leaveAtEnd(app: App, actor: Actor, socket: WebSocket): void {
  let over = false;
  const leave = () => {
    if (!over) app.limiter.leave(actor);
    over = true;
  };
  const giveUp = app.ports.clock.after(OPEN_MS, leave);
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

class SocketSink implements Sink {
  constructor(private readonly app: App, private readonly socket: WebSocket) {}

  get bufferedBytes(): number {
    return this.socket.bufferedAmount;
  }

  send(message: Message): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(textOf(message));
  }

  /** Sends a short text, unless the client does not read. */
  say(text: string): void {
    const reads = this.bufferedBytes <= DRAINED_BYTES;
    if (reads && this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
  }

  async drained(): Promise<void> {
    const { clock } = this.app.ports;
    while (this.socket.readyState === WebSocket.OPEN && this.bufferedBytes > DRAINED_BYTES) {
      await clock.sleep(DRAIN_POLL_MS);
    }
  }

  end(name: StreamEnd): void {
    const { code, then, meaning } = STREAM_ENDS[name];
    const retry = then === "resume" ? ` Retry after ${reconnectDelayMs(this.app)} ms.` : "";
    if (this.socket.readyState <= WebSocket.OPEN) this.socket.close(code, `${meaning}${retry}`);
  }
}

let last: Message | null = null;
let lastText = "";

/** One event goes to many clients, one after the other: its text is made once. */
function textOf(message: Message): string {
  if (message === last) return lastText;
  const { kind, id, json } = message;
  last = message;
  return lastText = `{"type":"${kind}","id":${JSON.stringify(id)},"data":${json}}`;
}
