import {
  type Message,
  reconnectDelayMs,
  type Sink,
  STREAM_ENDS,
  type StreamEnd,
} from "../../core/events/events.ts";
import type { Relay } from "../../core/relay.ts";

const DRAIN_POLL_MS = 20;
/** A client with fewer unread bytes counts as having read all. */
const DRAINED_BYTES = 16 * 1024;

/** Sends a stream's messages to a WebSocket. */
export class SocketSink implements Sink {
  constructor(private readonly relay: Relay, private readonly socket: WebSocket) {}

  get bufferedBytes(): number {
    return this.socket.bufferedAmount;
  }

  send(message: Message): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(textOf(message));
  }

  /** Sends a short text, unless the client reads too slowly. */
  sendIfRead(text: string): void {
    const reads = this.bufferedBytes <= DRAINED_BYTES;
    if (reads && this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
  }

  async drained(): Promise<void> {
    const { clock } = this.relay.ports;
    while (this.socket.readyState === WebSocket.OPEN && this.bufferedBytes > DRAINED_BYTES) {
      await clock.sleep(DRAIN_POLL_MS);
    }
  }

  end(name: StreamEnd): void {
    const { code, then, meaning } = STREAM_ENDS[name];
    const retry = then === "resume" ? ` Retry after ${reconnectDelayMs(this.relay)} ms.` : "";
    if (this.socket.readyState <= WebSocket.OPEN) this.socket.close(code, `${meaning}${retry}`);
  }
}

let last: Message | null = null;
let lastText = "";

/** The text of a message. One event goes to many clients in a row, so the last text is kept. */
function textOf(message: Message): string {
  if (message === last) return lastText;
  const { kind, id, json } = message;
  last = message;
  return lastText = `{"type":"${kind}","id":${JSON.stringify(id)},"data":${json}}`;
}
