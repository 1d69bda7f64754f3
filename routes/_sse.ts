import { STREAM_ENDS, type StreamEnd } from "../core/streams/ends.ts";
import type { Message } from "../core/streams/message.ts";
import type { Sink } from "../core/streams/stream.ts";

/** A message as server-sent events carry it. */
export function sseText({ kind, id, json }: Message): string {
  return `event: ${kind}\n${id === null ? "" : `id: ${id}\n`}data: ${json}\n\n`;
}

/**
 * The way to a client that reads server-sent events: what it has not taken waits here, and is taken as
 * fast as the client reads. `retryMs` says when it should come again after the end.
 */
export class SseSink implements Sink, AsyncIterableIterator<string> {
  #waiting: string[] = [];
  #bytes = 0;
  #ended = false;
  #reader: (() => void) | null = null;
  #drained: () => void = () => {};

  constructor(
    private readonly retryMs: () => number,
    private readonly onGone: () => void,
  ) {}

  get bufferedBytes(): number {
    return this.#bytes;
  }

  send(message: Message): void {
    if (this.#ended) return;
    const text = textOf(message);
    this.#waiting.push(text);
    this.#bytes += text.length;
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
    this.#waiting.push(`retry: ${this.retryMs()}\n`, sseText({ kind: "end", id: null, json }));
    this.#close();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string>> {
    while (this.#waiting.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => this.#reader = resolve);
    }
    const value = this.#waiting.join("");
    this.#waiting = [];
    this.#bytes = 0;
    this.#drained();
    if (value !== "") return { done: false, value };
    this.onGone();
    return { done: true, value: undefined };
  }

  /** The client has gone. */
  return(): Promise<IteratorResult<string>> {
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
let lastText = "";

/** One event goes to many clients, one after the other: its text is made once. */
function textOf(message: Message): string {
  if (message !== last) last = message, lastText = sseText(message);
  return lastText;
}
