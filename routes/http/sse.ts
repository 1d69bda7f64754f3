import { Buffer } from "node:buffer";
import type { OutputSink } from "../../core/agents/agents.ts";
import {
  type Message,
  reconnectDelayMs,
  STREAM_ENDS,
  type StreamEnd,
} from "../../core/events/events.ts";
import type { Ports } from "../../core/ports/ports.ts";

type Bytes = Uint8Array<ArrayBuffer>;
/** The most time from opening the stream until its response is read. */
const UNREAD_MS = 5_000;
const encoder = new TextEncoder();

/** A message in the format of server-sent events. */
function sseText({ kind, id, json }: Message): string {
  return `event: ${kind}\n${id === null ? "" : `id: ${id}\n`}data: ${json}\n\n`;
}

/**
 * Messages on their way to a client that reads server-sent events. They wait here until the client reads
 * them.
 */
export class SseSink implements OutputSink, AsyncIterableIterator<Bytes> {
  #waiting: Bytes[] = [];
  #bytes = 0;
  #ended = false;
  #reader: (() => void) | null = null;
  #drained: () => void = () => {};
  #stopWaiting: () => void = () => {};

  constructor(
    private readonly relay: {
      readonly ports: Pick<Ports, "clock" | "entropy">;
      readonly metrics: { streamEnded(name: StreamEnd): void };
    },
    private readonly onGone: () => void,
  ) {}

  /** Closes the stream unless reading begins soon, because a response may still fail before it is sent. */
  expectReader(): void {
    this.#stopWaiting = this.relay.ports.clock.after(UNREAD_MS, () => this.return());
  }

  get bufferedBytes(): number {
    return this.#bytes;
  }

  send(messages: readonly Message[]): void {
    if (this.#ended) return;
    const bytes = bytesOf(messages);
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
    this.#reader?.();
  }

  drained(): Promise<void> {
    if (this.#bytes === 0 || this.#ended) return Promise.resolve();
    return new Promise((resolve) => this.#drained = resolve);
  }

  /** Drops the messages that wait for a client that is too slow; it gets them when it resumes. */
  end(name: StreamEnd): void {
    if (this.#ended) return;
    const { code, then, meaning } = STREAM_ENDS[name];
    if (name === "too_slow") this.#waiting = [];
    const json = JSON.stringify({ code, name, then, message: meaning });
    const text = `retry: ${reconnectDelayMs(this.relay)}\n${
      sseText({ kind: "end", id: null, json })
    }`;
    this.#waiting.push(encoder.encode(text));
    this.#close();
    this.relay.metrics.streamEnded(name);
  }

  finish(): void {
    this.#close();
  }

  inTurn<T>(read: () => Promise<T>): Promise<T> {
    return read();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Bytes>> {
    this.#stopWaiting();
    while (this.#waiting.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => this.#reader = resolve);
    }
    const value = this.#waiting.length === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#bytes = 0;
    this.#drained();
    if (value.length > 0) return { done: false, value };
    this.onGone();
    return { done: true, value: undefined };
  }

  /** Called when the client has left. */
  return(): Promise<IteratorResult<Bytes>> {
    this.#stopWaiting();
    this.#waiting = [];
    this.#close();
    this.onGone();
    return Promise.resolve({ done: true, value: undefined });
  }

  #close(): void {
    this.#ended = true;
    this.#bytes = 0;
    this.#reader?.();
    this.#drained();
  }
}

const encoded = new WeakMap<readonly Message[], Bytes>();

/** The bytes of messages. Many clients get the same ones, so they are kept. */
function bytesOf(messages: readonly Message[]): Bytes {
  const bytes = encoded.get(messages) ?? encoder.encode(messages.map(sseText).join(""));
  encoded.set(messages, bytes);
  return bytes;
}
