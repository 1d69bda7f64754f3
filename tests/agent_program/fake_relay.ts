import type { Ended } from "../../core/cli/agent/outbox.ts";
import {
  AGENT_PROTOCOL,
  type AgentFrame,
  type CommandOrder,
  type HelloFrame,
  parseAgentFrame,
  type RelayFrame,
  type ResultsFrame,
  type RunFrame,
} from "../../core/protocol/protocol.ts";
import {
  challengeText,
  privateKeyOf,
  publicKeyOf,
  rawPublicKey,
  receiptText,
  signText,
  verdictText,
  verifiesText,
  welcomeText,
} from "../../core/protocol/statements.ts";

/** What an agent sends, with each result by itself. */
export type Seen = Exclude<AgentFrame, ResultsFrame> | Ended;

/** The relay's end of one link, after its handshake. */
export interface FakeLink {
  readonly hello: HelloFrame;
  readonly closed: Promise<{ code: number; reason: string }>;
  send(frame: RelayFrame): void;
  sendText(text: string): void;
  /** Sends commands in one batch, under a verdict. */
  run(...orders: CommandOrder[]): void;
  /** The next batch, signed. */
  signed(orders: readonly CommandOrder[], expiresInMs?: number): RunFrame;
  /** The next frame that the agent sends; receipts have been verified. */
  next(): Promise<Seen>;
  /** The frames up to and with the result of a command. */
  untilResult(commandId: string): Promise<Seen[]>;
  close(code: number, reason: string): void;
}

export interface FakeRelay {
  readonly url: string;
  readonly port: number;
  /** The next link that an agent opens. */
  nextLink(): Promise<FakeLink>;
  /** Cuts every link and stops listening. */
  stop(): Promise<void>;
}

const TOKEN = "test-token";
/** The same for every fake relay, so that one may take another's place. */
const KEY = privateKeyOf(new Uint8Array(32).fill(7));
/** The relay's clock is an hour ahead of the agent's. */
const now = () => Date.now() + 3_600_000;

/** A relay that speaks the agent protocol and nothing else, on 127.0.0.1. */
export function startFakeRelay(port = 0, heartbeatSeconds = 30): FakeRelay {
  const links = openQueue<FakeLink>();
  const server = Deno.serve({ port, hostname: "127.0.0.1", onListen() {} }, (request) => {
    if (request.headers.get("authorization") !== `Bearer ${TOKEN}`) {
      const error = { code: "INVALID_API_KEY", message: "The API key is not accepted." };
      return Response.json({ error }, { status: 401 });
    }
    if (request.headers.get("sec-websocket-protocol") !== AGENT_PROTOCOL) {
      return new Response("", { status: 426 });
    }
    const { socket, response } = Deno.upgradeWebSocket(request, { protocol: AGENT_PROTOCOL });
    shakeHands(socket, heartbeatSeconds).then(links.push, () => {});
    return response;
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    port: server.addr.port,
    nextLink: links.next,
    stop: () => server.shutdown(),
  };
}

/** The credential that a fake relay accepts. */
export const fakeToken = TOKEN;

async function shakeHands(socket: WebSocket, heartbeatSeconds: number): Promise<FakeLink> {
  const frames = openQueue<Seen>();
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  const nonce = crypto.randomUUID();
  const send = (frame: RelayFrame) => socket.send(JSON.stringify(frame));
  socket.onopen = () => send({ type: "challenge", nonce });
  socket.onclose = ({ code, reason }) => closed.resolve({ code, reason });
  socket.onmessage = ({ data }) => {
    const frame = parseAgentFrame(data);
    if (frame === null || frame === "unknown") throw new Error(`the agent sent ${data}`);
    if (frame.type === "results") { for (const result of opened(frame)) frames.push(result); }
    else frames.push(frame);
  };
  const hello = await frames.next();
  if (hello.type !== "hello") throw new Error("no hello");
  const key = publicKeyOf(hello.public_key)!;
  if (!verifiesText(key, challengeText(nonce), hello.signature)) throw new Error("no proof of key");
  const link = { agentId: "agt_1", nonce: hello.nonce };
  let batches = 0;

  function opened({ results, signature }: ResultsFrame): Ended[] {
    if (!verifiesText(key, receiptText(link.agentId, results), signature)) {
      throw new Error("a receipt does not verify");
    }
    return results.map((result) => ({ type: "result", ...result }));
  }

  function signed(commands: readonly CommandOrder[], expiresInMs = 60_000): RunFrame {
    const frame = {
      type: "run" as const,
      batch: ++batches,
      expires_at_ms: now() + expiresInMs,
      commands: [...commands],
    };
    return { ...frame, signature: signText(KEY, verdictText(link, frame)) };
  }

  const time_ms = now();
  send({
    type: "welcome",
    time_ms,
    verdict_key: rawPublicKey(KEY),
    signature: signText(KEY, welcomeText({ agent_id: link.agentId, time_ms }, link.nonce)),
    agent_id: link.agentId,
    name: hello.agent.name,
    heartbeat_seconds: heartbeatSeconds,
    relay_version: "1.2.3",
  });
  return {
    hello,
    closed: closed.promise,
    send,
    signed,
    run: (...orders) => send(signed(orders)),
    sendText: (text) => socket.send(text),
    next: frames.next,
    async untilResult(commandId) {
      for (const seen: Seen[] = [];;) {
        const frame = await frames.next();
        seen.push(frame);
        if (frame.type === "result" && frame.command_id === commandId) return seen;
      }
    },
    close: (code, reason) => socket.close(code, reason),
  };
}

function openQueue<T>() {
  const items: T[] = [];
  const takers: ((item: T) => void)[] = [];
  return {
    push(item: T) {
      const taker = takers.shift();
      if (taker) taker(item);
      else items.push(item);
    },
    next(): Promise<T> {
      const item = items.shift();
      return item === undefined ? new Promise((take) => takers.push(take)) : Promise.resolve(item);
    },
  };
}
