import type { Program } from "../../core/cli/program.ts";
import { delay } from "./wait.ts";

/** A caller waits this long at most when the store is away, and the server's own sign of life this long. */
const [CALL_MS, ALIVE_MS] = [5_000, 1_000];
const DAY_MS = 24 * 60 * 60 * 1000;
const AGAIN_MS = 50;

/** A period in which the store is away. */
export interface Outage {
  readonly fromMs: number;
  toMs: number;
}

/** What is wrong with the responses of a time in which the store may be away. */
export class Responses {
  readonly faults: string[] = [];
  /** Refused calls, and how long the slowest one took, in ms. */
  refused = 0;
  slowestMs = 0;

  constructor(private readonly outages: readonly Outage[]) {}

  /** `fetch`, which looks at each response. */
  readonly fetch: typeof fetch = async (to, init) => {
    const sentMs = performance.now();
    const response = await fetch(to, init);
    const outage = this.outages.find(({ fromMs, toMs }) => sentMs >= fromMs && sentMs < toMs);
    if (outage !== undefined) this.#judge(String(to), response, sentMs, outage);
    return response;
  };

  #judge(to: string, response: Response, sentMs: number, { toMs }: Outage): void {
    const nowMs = performance.now(), tookMs = Math.min(nowMs, toMs) - sentMs;
    const alive = to.endsWith("/healthz");
    if (tookMs > (alive ? ALIVE_MS : CALL_MS)) {
      this.faults.push(`${to} was answered ${response.status} after ${Math.round(tookMs)} ms`);
    }
    const { status, headers } = response;
    if (alive) {
      if (status !== 200) this.faults.push(`${to} was answered ${status}`);
      return;
    }
    if (status !== 503) {
      if (nowMs < toMs) this.faults.push(`${to} was answered ${status}`);
      return;
    }
    this.refused++;
    this.slowestMs = Math.max(this.slowestMs, tookMs);
    if (!headers.get("content-type")?.startsWith("application/json")) {
      this.faults.push(`${to} is no JSON`);
    }
    if (!/^\d+$/.test(headers.get("retry-after") ?? "")) this.faults.push(`${to}: no Retry-After`);
  }
}

/** A reader of the event stream at one instance, which resumes when it is cut off. */
export class Follower {
  /** When each event of a denied command came, by the command's text. */
  readonly came = new Map<string, number>();
  readonly faults: string[] = [];
  /** How often it was cut off. */
  cuts = 0;
  #last: string | null = null;
  readonly #opened = Promise.withResolvers<void>();
  #stopped = false;
  readonly #closing = new AbortController();

  constructor(private readonly url: string, private readonly key: string) {}

  /** Resolves when the first stream is open: events from now on come. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  async run(): Promise<void> {
    for (; !this.#stopped; this.cuts++) {
      try {
        await this.#read();
      } catch (error) {
        if (!(error instanceof TypeError) && !this.#stopped) throw error;
      }
      await delay(AGAIN_MS);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#closing.abort();
  }

  async #read(): Promise<void> {
    const headers = {
      "x-api-key": this.key,
      ...(this.#last !== null && { "last-event-id": this.#last }),
    };
    const { signal } = this.#closing;
    const response = await fetch(`${this.url}/api/events`, { headers, signal });
    if (response.status !== 200) return void await response.body?.cancel();
    let rest = "";
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + text).split("\n\n");
      rest = blocks.pop()!;
      blocks.forEach((block) => this.#take(block));
    }
  }

  #take(block: string): void {
    const [, id] = /^id: (.*)$/m.exec(block) ?? [];
    if (id !== undefined) this.#last = id;
    this.#opened.resolve();
    const [, command] = /"command":"(rm -rf \/ # \w+)"/.exec(block) ?? [];
    if (command === undefined) return;
    if (this.came.has(command)) this.faults.push(`${command} came twice to ${this.url}`);
    this.came.set(command, performance.now());
  }
}

/** The lines of a relay's log, parsed, as they come. */
export async function collectLog(
  relay: Program,
  into: { level: string; message: string }[],
): Promise<void> {
  let over = false;
  relay.ended.then(() => over = true);
  while (!over) {
    try {
      const [line] = await relay.line(/^\{.*\}$/, DAY_MS);
      into.push(JSON.parse(line));
    } catch (error) {
      if (!over) throw error;
    }
  }
}
