import { World } from "../support/world.ts";

/** How a request speaks of its revision. */
export type Style = "plain" | "modern";

// deno-lint-ignore no-explicit-any -- tests look into messages of every shape
export type Json = any;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The answer to the request, or null. */
  readonly body: Json;
  /** Every message of a stream, the answer among them. */
  readonly messages: Json[];
}

interface Options {
  readonly as?: string | undefined;
  readonly path?: string;
  readonly style?: Style;
  readonly accept?: string;
  readonly headers?: Record<string, string>;
  /** What the client can do. */
  readonly capabilities?: Json;
  readonly meta?: Json;
  readonly id?: string | number;
}

const BOTH = "application/json, text/event-stream";
const NAMED: Record<string, string> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** A request as a client of the current revision, or of none, would send it. */
export function requestOf(method: string, params: Json = {}, options: Options = {}): Request {
  const { style = "plain", capabilities = {}, meta, id = 1, path = "/mcp" } = options;
  const headers = new Headers({ "content-type": "application/json" });
  if (options.as !== undefined) headers.set("authorization", `Bearer ${options.as}`);
  const accept = options.accept ?? (style === "modern" ? BOTH : undefined);
  if (accept !== undefined) headers.set("accept", accept);
  let whole = meta === undefined ? params : { ...params, _meta: meta };
  if (style === "modern") {
    headers.set("mcp-protocol-version", "2026-07-28");
    headers.set("mcp-method", method);
    const name = params[NAMED[method] ?? ""];
    if (name !== undefined) headers.set("mcp-name", name);
    const own = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    whole = { ...params, _meta: { ...own, ...meta } };
  }
  for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
  return new Request(`http://localhost${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params: whole }),
  });
}

/** Sends a request and reads its answer to the end. */
export async function rpc(
  world: World,
  method: string,
  params: Json = {},
  options: Options = {},
): Promise<Reply> {
  return await readReply(await world.send(requestOf(method, params, options)));
}

/** Calls a tool. */
export const tool = (world: World, name: string, args: Json = {}, options: Options = {}) =>
  rpc(world, "tools/call", { name, arguments: args }, options);

/** Reads an answer, whether it is one message or a stream of them. */
export async function readReply(response: Response): Promise<Reply> {
  const { status, headers } = response;
  const text = await response.text();
  const type = headers.get("content-type") ?? "";
  const messages = type.startsWith("text/event-stream")
    ? messagesOf(text)
    : text === ""
    ? []
    : [JSON.parse(text)];
  const body = messages.find((message) => !("method" in message)) ?? null;
  return { status, headers, body, messages };
}

/** The messages of a stream's text. */
export const messagesOf = (text: string): Json[] =>
  text.split("\n").filter((line) => line.startsWith("data: ")).map((line) =>
    JSON.parse(line.slice("data: ".length))
  );

/** The error that a tool's result tells. */
export const toolError = ({ body }: Reply): Json => body.result?._meta?.["relay/error"] ?? null;

/** A stream that is read as it comes. */
export class Reader {
  readonly messages: Json[] = [];
  ended = false;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = "";

  constructor(readonly response: Response) {
    this.#reader = response.body!.getReader();
  }

  /** Reads on until so many messages have come, or the end. */
  async until(count: number): Promise<Json[]> {
    while (!this.ended && this.messages.length < count) {
      const { done, value } = await this.#reader.read();
      this.ended = done;
      this.#text += new TextDecoder().decode(value);
      const end = this.#text.lastIndexOf("\n\n");
      if (end === -1) continue;
      this.messages.push(...messagesOf(this.#text.slice(0, end)));
      this.#text = this.#text.slice(end + 2);
    }
    return this.messages;
  }

  /** The client goes away. */
  async drop(): Promise<void> {
    await this.#reader.cancel();
  }
}
