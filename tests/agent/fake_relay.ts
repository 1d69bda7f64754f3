import {
  AGENT_PROTOCOL,
  type AgentFrame,
  challengeBytes,
  type HelloFrame,
  parseAgentFrame,
  type RelayFrame,
} from "../../core/protocol.ts";

/** The relay's end of one link, after its handshake. */
export interface FakeLink {
  readonly hello: HelloFrame;
  readonly closed: Promise<{ code: number; reason: string }>;
  send(frame: RelayFrame): void;
  sendText(text: string): void;
  /** The next frame that the agent sends. */
  next(): Promise<AgentFrame>;
  /** The frames up to and with the result of a command. */
  untilResult(commandId: string): Promise<AgentFrame[]>;
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
  const frames = openQueue<AgentFrame>();
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  const nonce = crypto.randomUUID();
  const send = (frame: RelayFrame) => socket.send(JSON.stringify(frame));
  socket.onopen = () => send({ type: "challenge", nonce });
  socket.onclose = ({ code, reason }) => closed.resolve({ code, reason });
  socket.onmessage = ({ data }) => {
    const frame = parseAgentFrame(data);
    if (frame === null || frame === "unknown") throw new Error(`the agent sent ${data}`);
    frames.push(frame);
  };
  const hello = await frames.next();
  if (hello.type !== "hello" || !await provesKey(hello, nonce)) throw new Error("no valid hello");
  send({
    type: "welcome",
    agent_id: "agt_1",
    name: hello.agent.name,
    heartbeat_seconds: heartbeatSeconds,
    relay_version: "1.2.3",
  });
  return {
    hello,
    closed: closed.promise,
    send,
    sendText: (text) => socket.send(text),
    next: frames.next,
    async untilResult(commandId) {
      for (const seen: AgentFrame[] = [];;) {
        const frame = await frames.next();
        seen.push(frame);
        if (frame.type === "result" && frame.command_id === commandId) return seen;
      }
    },
    close: (code, reason) => socket.close(code, reason),
  };
}

async function provesKey(hello: HelloFrame, nonce: string): Promise<boolean> {
  const decode = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });
  const raw = decode(hello.public_key);
  const key = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", key, decode(hello.signature), challengeBytes(nonce));
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
