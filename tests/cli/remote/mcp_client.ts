import { ok } from "node:assert/strict";
import type { World } from "../../support/world.ts";
import { type Printed, terminal } from "./terminal.ts";

// deno-lint-ignore no-explicit-any -- tests look into messages of every shape
type Json = any;

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly through?: (send: typeof fetch) => typeof fetch;
  readonly args?: readonly string[];
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** The `_meta` of a request of the current revision. */
export const modern = (more: Json = {}) => ({ _meta: { ...META, ...more } });

/** A client that started `relay mcp` and speaks with it by lines. */
export class McpClient {
  readonly messages: Json[] = [];
  /** The standard error. */
  err = "";
  /** Where its requests went. */
  readonly urls: readonly string[];
  readonly ended: Promise<Printed>;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #sleeps: { ms: number; wake: () => void }[] = [];
  #waiter = () => {};
  #id = 0;

  constructor(world: World, home: string, { env = {}, args = [], ...options }: Options = {}) {
    const pipe = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 100 });
    this.#input = pipe.writable.getWriter();
    const { run, urls } = terminal(world, home);
    this.urls = urls;
    this.ended = run(["mcp", ...args], {
      ...options,
      env,
      stdin: pipe.readable,
      sawOut: (line) => {
        ok(line.endsWith("\n") && line.indexOf("\n") === line.length - 1, "a message is a line");
        this.messages.push(JSON.parse(line));
        this.#waiter();
      },
      saw: (text) => {
        this.err += text;
        this.#waiter();
      },
      sleep: (ms) =>
        new Promise((wake) => {
          this.#sleeps.push({ ms, wake });
          this.#waiter();
        }),
    });
  }

  /** Writes a message without waiting for an answer. */
  write(message: Json): void {
    this.writeText(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  writeText(text: string): void {
    this.#input.write(new TextEncoder().encode(text)).catch(() => {});
  }

  /** Sends a request; resolves to its answer. */
  async ask(method: string, params: Json = {}): Promise<Json> {
    const id = this.begin(method, params);
    return await this.answer(id);
  }

  /** Sends a request; returns its id. */
  begin(method: string, params: Json = {}): number {
    const id = ++this.#id;
    this.write({ id, method, params });
    return id;
  }

  answer(id: number | null): Promise<Json> {
    return this.until(() => this.messages.find((each) => !("method" in each) && each.id === id));
  }

  /** Resolves once a message with this method has come. */
  told(method: string, nth = 1): Promise<Json> {
    return this.until(() => this.messages.filter((each) => each.method === method)[nth - 1]);
  }

  /** Opens a session, as clients of the older revisions do. */
  async initialize(): Promise<Json> {
    const answer = await this.ask("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    this.write({ method: "notifications/initialized" });
    return answer;
  }

  /** Calls a tool; resolves to its result. */
  async call(name: string, args: Json = {}, more: Json = {}): Promise<Json> {
    const { result, error } = await this.ask("tools/call", { name, arguments: args, ...more });
    return result ?? error;
  }

  /** Lets the command's next wait end; resolves to how long it was. */
  async wake(): Promise<number> {
    const sleep = await this.until(() => this.#sleeps.shift());
    sleep.wake();
    return sleep.ms;
  }

  /** Closes the standard input; resolves to what the command printed. */
  async close(): Promise<Printed> {
    await this.#input.close().catch(() => {});
    return await this.ended;
  }

  /** Resolves to the first result that is not undefined. */
  async until<R>(find: () => R | undefined): Promise<R> {
    while (true) {
      const found = find();
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiter = resolve);
    }
  }
}
