import { Buffer } from "node:buffer";
import { STREAM_ENDS, type StreamEnd } from "../../core/events/streams/ends.ts";
import type { Message } from "../../core/events/streams/message.ts";
import type { Sink } from "../../core/events/streams/stream.ts";
import type { Clock } from "../../kv/store/clock.ts";

type Bytes = Uint8Array<ArrayBuffer>;
/** How long it may take until the client is sent something. */
const UNREAD_MS = 5_000;
const encoder = new TextEncoder();

/** A message as server-sent events carry it. */
function sseText({ kind, id, json }: Message): string {
  return `event: ${kind}\n${id === null ? "" : `id: ${id}\n`}data: ${json}\n\n`;
}

/**
 * The way to a client that reads server-sent events: what it has not taken waits here, and is taken as
 * fast as the client reads. `retryMs` says when it should come again after the end.
 */
export class SseSink implements Sink, AsyncIterableIterator<Bytes> {
  #waiting: Bytes[] = [];
  #bytes = 0;
  #ended = false;
  #reader: (() => void) | null = null;
  #drained: () => void = () => {};
  #stopWaiting: () => void = () => {};

  constructor(
    private readonly retryMs: () => number,
    private readonly onGone: () => void,
  ) {}

  /** Lets the stream go unless reading begins soon: an answer that fails after this is read by nobody. */
  expectReader(clock: Clock): void {
    this.#stopWaiting = clock.after(UNREAD_MS, () => this.return());
  }

  get bufferedBytes(): number {
    return this.#bytes;
  }

  send(message: Message): void {
    if (this.#ended) return;
    const bytes = bytesOf(message);
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
    this.#reader?.();
  }

  drained(): Promise<void> {
    if (this.#bytes === 0 || this.#ended) return Promise.resolve();
    return new Promise((resolve) => this.#drained = resolve);
  }

  /** What waits for a client that is too slow is given up: it gets it again when it resumes. */
  end(name: StreamEnd): void {
    if (this.#ended) return;
    const { code, then, meaning } = STREAM_ENDS[name];
    if (name === "too_slow") this.#waiting = [];
    const json = JSON.stringify({ code, name, then, message: meaning });
    const text = `retry: ${this.retryMs()}\n${sseText({ kind: "end", id: null, json })}`;
    this.#waiting.push(encoder.encode(text));
    this.#close();
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

  /** The client has gone. */
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

let last: Message | null = null;
let lastBytes: Bytes = new Uint8Array();

/** One event goes to many clients, one after the other: its bytes are made once, and all share them. */
function bytesOf(message: Message): Bytes {
  if (message !== last) last = message, lastBytes = encoder.encode(sseText(message));
  return lastBytes;
}
