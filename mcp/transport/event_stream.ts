import { reconnectDelayMs } from "../../core/events/events.ts";
import type { Relay } from "../../core/relay.ts";
import { headersOf } from "../../routes/http/answer.ts";
import type { Visit } from "../../routes/http/serve_service.ts";
import type { Sink } from "../exchange.ts";

/** The media type of a stream of events. */
export const EVENT_STREAM = "text/event-stream";
/** Beyond this much unread data messages are dropped. */
const BUFFERED_BYTES_MAX = 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;
const encoder = new TextEncoder();

/** A response that is a stream of server-sent events. */
export interface Stream extends Sink {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Ends the stream, after a last message if one is given. That one is never dropped. */
  end(text?: string): void;
  /** Ends a stream that its client should reopen, after a delay that spreads the clients. */
  endForNow(text?: string): void;
  readonly open: boolean;
}

/** Opens a stream. */
export function openStream(relay: Relay): Stream {
  const { clock } = relay.ports;
  let controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  let open = true;
  const goneTasks = new Set<() => void>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (given) => void (controller = given),
    // Only this tells reliably that the client has left.
    cancel() {
      close();
      for (const task of goneTasks) task();
    },
  }, new ByteLengthQueuingStrategy({ highWaterMark: BUFFERED_BYTES_MAX }));
  const hasRoom = () => (controller.desiredSize ?? 0) > 0;
  const keepAlive = () => {
    if (hasRoom()) controller.enqueue(encoder.encode(": still here\n\n"));
    cancelTimer = clock.after(KEEP_ALIVE_MS, keepAlive);
  };
  let cancelTimer = clock.after(KEEP_ALIVE_MS, keepAlive);
  const close = () => {
    open = false;
    cancelTimer();
  };
  const write = (text: string) => controller.enqueue(encoder.encode(eventOf(text)));
  const stream: Stream = {
    body,
    get open() {
      return open;
    },
    send(message) {
      const sent = open && hasRoom();
      if (sent) write(message);
      return sent;
    },
    onGone: (task) => void goneTasks.add(task),
    end(text) {
      if (!open) return;
      if (text !== undefined) write(text);
      close();
      controller.close();
    },
    endForNow(text) {
      if (open) controller.enqueue(encoder.encode(`retry: ${reconnectDelayMs(relay)}\n\n`));
      stream.end(text);
    },
  };
  return stream;
}

/** One message as an event. */
export const eventOf = (text: string) => `event: message\ndata: ${text}\n\n`;

/** The response whose body is a stream; its connection counts until it ends. */
export function streamResponse({ envelope, keepOpen }: Visit, stream: Stream): Response {
  keepOpen();
  const headers = {
    ...headersOf(envelope),
    "content-type": EVENT_STREAM,
    "cache-control": "no-store",
    // Proxies that buffer responses would hold events back.
    "x-accel-buffering": "no",
  };
  return new Response(stream.body, { headers });
}
