import { linesOf } from "../../core/cli/remote/mcp/lines.ts";
import type { Json } from "./client.ts";

/** How a client starts a program. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
}

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const encoder = new TextEncoder();

/** A request under way: the stream that its client reads. */
interface Asked {
  readonly id: unknown;
  readonly token: unknown;
  readonly send: (message: Json) => void;
  readonly end: (message: Json) => void;
}

/** A program that speaks by lines, for clients whose ids may be the same. */
class Peer {
  readonly asked = new Map<string, Asked>();
  /** Takes what belongs to no request. */
  stream: ((message: Json) => void) | null = null;
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  #count = 0;

  constructor({ command, args, env }: Start) {
    this.#child = new Deno.Command(command, {
      args: [...args],
      env,
      stdin: "piped",
      stdout: "piped",
    })
      .spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#read();
  }

  async write(message: Json): Promise<void> {
    await this.#input.write(encoder.encode(`${JSON.stringify(message)}\n`));
  }

  async ask(message: Json, asked: Asked): Promise<string> {
    const id = `bridge-${++this.#count}`;
    this.asked.set(id, asked);
    await this.write({ ...message, id });
    return id;
  }

  async close(): Promise<void> {
    await this.#input.close();
    await this.#child.status;
  }

  async #read(): Promise<void> {
    for await (const line of linesOf(this.#child.stdout, 16 * 1024 * 1024)) {
      const message = JSON.parse(line!);
      const asked = this.asked.get(message.id);
      if (asked !== undefined && message.method === undefined) {
        this.asked.delete(message.id);
        asked.end(withoutId({ ...message, id: asked.id }, asked.id));
      } else this.#pass(message);
    }
  }

  #pass(message: Json): void {
    const { progressToken, _meta } = message.params ?? {};
    const subscription = _meta?.[SUBSCRIPTION];
    const all = [...this.asked];
    const [, owner] =
      all.find(([id, { token }]) =>
        subscription === undefined ? progressToken === token : id === subscription
      ) ?? (this.stream === null ? all.at(-1) : undefined) ?? [];
    if (owner === undefined) this.stream?.(message);
    else owner.send(withoutId(message, owner.id));
  }
}

/** A message with the client's own id in place of the bridge's. */
const withoutId = (message: Json, id: unknown): Json =>
  JSON.parse(
    JSON.stringify(message),
    (key, value) => key === SUBSCRIPTION && /^bridge-/.test(value) ? id : value,
  );

/** Serves a program that speaks by lines over HTTP, for the conformance suite, which knows no lines. */
export function bridge(start: Start) {
  const sessions = new Map<string, Peer>();
  const shared = new Peer(start);

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const session = request.headers.get("mcp-session-id");
    const peer = session === null ? shared : sessions.get(session);
    if (peer === undefined) return new Response(null, { status: 404 });
    if (request.method === "DELETE") return new Response(null, { status: 204 });
    if (request.method === "GET") return streamOf((send) => void (peer.stream = send));
    const message = await request.json();
    if (message.method === "initialize") {
      const id = crypto.randomUUID(), own = new Peer(start);
      sessions.set(id, own);
      return answerOf(own, message, { "mcp-session-id": id });
    }
    if (message.id !== undefined && message.method !== undefined) return answerOf(peer, message);
    await peer.write(message);
    return new Response(null, { status: 202 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    async close() {
      await server.shutdown();
      await Promise.all([shared, ...sessions.values()].map((peer) => peer.close()));
    },
  };
}

const answerOf = (peer: Peer, message: Json, headers: Record<string, string> = {}): Response =>
  streamOf((send, end) => {
    const asked = {
      id: message.id,
      token: message.params?._meta?.progressToken,
      send,
      end: (answer: Json) => {
        send(answer);
        end();
      },
    };
    const id = peer.ask(message, asked);
    return async () => {
      const params = { requestId: await id };
      if (peer.asked.delete(params.requestId)) {
        await peer.write({ jsonrpc: "2.0", method: "notifications/cancelled", params });
      }
    };
  }, headers);

/** A stream of events; `open` returns what to do when its reader leaves. */
function streamOf(
  open: (send: (message: Json) => void, end: () => void) => (() => Promise<void>) | void,
  headers: Record<string, string> = {},
): Response {
  let left: (() => Promise<void>) | void;
  let ended = false;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      left = open((message) => {
        if (ended) return;
        controller.enqueue(encoder.encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`));
      }, () => {
        if (!ended) controller.close();
        ended = true;
      });
    },
    async cancel() {
      ended = true;
      await left?.();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", ...headers } });
}
