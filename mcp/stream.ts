import type { App } from "../core/work/work.ts";
import { reconnectDelayMs } from "../core/events/streams/ends.ts";
import type { Sink } from "./exchange.ts";
import { notification, type Params } from "./rpc.ts";

/** The media type of answers that are streams. */
export const EVENT_STREAM = "text/event-stream";
/** What may wait for a client that reads slowly; notifications beyond it are not sent. */
const BUFFERED_BYTES_MAX = 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;
const encoder = new TextEncoder();

/** An answer that is a stream of server-sent events. */
export interface Stream extends Sink {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Sends a message that must arrive. */
  send(text: string): void;
  /** Ends the stream, after a last message if there is one. */
  end(text?: string): void;
  /** The same for a stream that its client wants to have again, and when: not all at the same moment. */
  endForNow(text?: string): void;
  readonly open: boolean;
}

/** Opens a stream; `ask` carries requests to the client where that is possible. */
export function openStream(
  app: App,
  ask: (
    method: string,
    params: Params,
    stream: Pick<Stream, "send" | "onGone">,
  ) => Promise<unknown>,
): Stream {
  const { clock } = app.ports;
  let controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  let open = true;
  const goneTasks = new Set<() => void>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (given) => void (controller = given),
    // The one sign of a client's going that comes for every client and for no other reason.
    cancel() {
      close();
      for (const task of goneTasks) task();
    },
  }, new ByteLengthQueuingStrategy({ highWaterMark: BUFFERED_BYTES_MAX }));
  const keepAlive = () => {
    if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(": still here\n\n"));
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
    send: (text) => open && write(text),
    notify(method, params) {
      if (!open || (controller.desiredSize ?? 0) <= 0) return false;
      write(notification(method, params));
      return true;
    },
    ask: (method, params) => ask(method, params, stream),
    onGone: (task) => void goneTasks.add(task),
    end(text) {
      if (!open) return;
      if (text !== undefined) write(text);
      close();
      controller.close();
    },
    endForNow(text) {
      if (open) controller.enqueue(encoder.encode(`retry: ${reconnectDelayMs(app)}\n\n`));
      stream.end(text);
    },
  };
  return stream;
}

/** One message as an event. */
export const eventOf = (text: string) => `event: message\ndata: ${text}\n\n`;
