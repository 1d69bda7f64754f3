import type { World } from "./world.ts";

/** One server-sent event. */
export interface Received {
  readonly event: string;
  readonly id: string | null;
  // deno-lint-ignore no-explicit-any -- tests look into events of every shape
  readonly data: any;
}

interface Asked {
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client of a stream, of `/api/events` unless said, that reads as it is told to. */
export class StreamClient {
  #rest = "";
  readonly #reader: ReadableStreamDefaultReader<string>;
  readonly #parsed: Received[] = [];
  retryMs: number | null = null;

  private constructor(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader();
  }

  static async open(
    world: World,
    /** Undefined for a caller by headers. */
    as: string | undefined,
    { path = "/api/events", query = "", headers = {} }: Asked = {},
  ): Promise<StreamClient> {
    const response = await world.raw("GET", `${path}${query}`, {
      as,
      headers: { accept: "text/event-stream", ...headers },
    });
    if (response.status !== 200) throw new Error(`the stream answered ${await response.text()}`);
    return new StreamClient(response.body!);
  }

  /** The next event, or null at the stream's end. */
  async next(): Promise<Received | null> {
    for (;;) {
      const parsed = this.#parsed.shift();
      if (parsed !== undefined) return parsed;
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#take(value);
    }
  }

  /** Goes away. */
  async cut(): Promise<void> {
    await this.#reader.cancel();
  }

  #take(text: string): void {
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop()!;
    for (const block of blocks) {
      const lines = block.split("\n").map((line) => {
        const colon = line.indexOf(": ");
        return [line.slice(0, colon), line.slice(colon + 2)];
      });
      const { event, id, data, retry } = Object.fromEntries(lines);
      if (retry !== undefined) this.retryMs = Number(retry);
      this.#parsed.push({ event, id: id ?? null, data: JSON.parse(data) });
    }
  }
}
