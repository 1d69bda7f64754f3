import {
  BUFFER_BYTES_MAX,
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
/** Messages about commands that wait for the stream's `hello` at most. */
const EARLY_MAX = 64;

/** A message about a command. `refused` is for output that the client asked for, but does not get. */
interface MessageAbout {
  readonly kind: Message["kind"] | "refused";
  readonly id: string | null;
  readonly json: string;
}

/** Sends a stream's messages to a WebSocket, and those about the commands that its client follows. */
export class SocketSink implements Sink {
  /** Messages about commands from before `hello`; null after it. */
  #early: string[] | null = [];

  constructor(
    private readonly relay: Relay,
    private readonly socket: WebSocket,
    /** Whether a frame may hold several messages. */
    private readonly batched: boolean,
  ) {}

  get bufferedBytes(): number {
    return this.#isOpen ? this.socket.bufferedAmount : 0;
  }

  send(messages: readonly Message[]): void {
    this.#send(framesOf(messages, this.batched));
    const early = this.#early ?? [];
    this.#early = null;
    this.#send(early);
  }

  /** Sends a message about a command. Ends the socket when too much is unread. */
  sendAbout(commandId: string, { kind, id, json }: MessageAbout): void {
    const [of, about] = [JSON.stringify(id), JSON.stringify(commandId)];
    const text = `{"type":"${kind}","id":${of},"command_id":${about},"data":${json}}`;
    if (this.#early === null) this.#send([text]);
    else if (this.#early.length < EARLY_MAX) this.#early.push(text);
    if (this.bufferedBytes > BUFFER_BYTES_MAX) this.end("too_slow");
  }

  /** Sends a short text, unless the client reads too slowly. */
  sendIfRead(text: string): void {
    if (this.bufferedBytes <= DRAINED_BYTES) this.#send([text]);
  }

  async drained(): Promise<void> {
    const { clock } = this.relay.ports;
    while (this.bufferedBytes > DRAINED_BYTES) await clock.sleep(DRAIN_POLL_MS);
  }

  end(name: StreamEnd): void {
    const { code, then, meaning } = STREAM_ENDS[name];
    const retry = then === "resume" ? ` Retry after ${reconnectDelayMs(this.relay)} ms.` : "";
    if (this.socket.readyState > WebSocket.OPEN) return;
    this.socket.close(code, `${meaning}${retry}`);
    this.relay.metrics.streamEnded(name);
  }

  get #isOpen(): boolean {
    return this.socket.readyState === WebSocket.OPEN;
  }

  #send(frames: readonly string[]): void {
    if (!this.#isOpen) return;
    for (const frame of frames) this.socket.send(frame);
  }
}

/** Each text is made once for all clients that get the same messages. */
const texts = new WeakMap<readonly Message[], readonly string[]>();
const batches = new WeakMap<readonly Message[], readonly [string]>();

/** The frames of messages: one for each, or one that holds a line for each. */
function framesOf(messages: readonly Message[], batched: boolean): readonly string[] {
  const made = batched ? batches.get(messages) : texts.get(messages);
  if (made !== undefined) return made;
  const frames = messages.map(textOf);
  texts.set(messages, frames);
  if (!batched) return frames;
  const batch = [frames.join("\n")] as const;
  batches.set(messages, batch);
  return batch;
}

const textOf = ({ kind, id, json }: Message): string =>
  `{"type":"${kind}","id":${JSON.stringify(id)},"data":${json}}`;
