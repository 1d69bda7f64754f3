import type { Buffer } from "node:buffer";
import { Agent as HttpAgent, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import process from "node:process";
import * as tls from "node:tls";
import { WebSocket } from "ws";
import { CLOSE_CODES } from "../close_codes.ts";
import { AGENT_PROTOCOL, MAX_RELAY_FRAME_BYTES } from "../protocol.ts";
import type { AgentSocket, SocketEnd, SocketEvents } from "./port.ts";

/** How much of a refusal is read, in UTF-16 units. */
const EXPLANATION_MAX = 2_000;
/** What stands for "no closing handshake" where nobody can have sent it (RFC 6455). */
const ABNORMAL = 1006;

/** What is used of the library's socket, which comes without types. */
interface Socket {
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(text: string): void;
  close(code: number, reason?: string): void;
  terminate(): void;
  on(event: "message", heard: (data: Buffer, isBinary: boolean) => void): void;
  on(event: "error", heard: (error: Error) => void): void;
  on(event: "unexpected-response", heard: (_: unknown, response: IncomingMessage) => void): void;
  on(event: "close", heard: (code: number, reason: Buffer) => void): void;
}

/**
 * Opens the link over the network, through the proxy of HTTP_PROXY or HTTPS_PROXY where one is named, and
 * trusting the authority of DENO_CERT too. Not by the platform's own WebSocket: that one writes a frame's
 * head and body apart and leaves Nagle's algorithm on, so that the body of each longer frame waits 40 ms for
 * the relay's acknowledgement.
 */
export function dial(url: string, token: string, events: SocketEvents): AgentSocket {
  const address = linkAddress(url);
  const Agent = address.startsWith("wss:") ? HttpsAgent : HttpAgent;
  const options: object = { proxyEnv: process.env, ...authorities() }; // newer than its types
  const socket: Socket = new WebSocket(address, [AGENT_PROTOCOL], {
    agent: new Agent(options),
    headers: { authorization: `Bearer ${token}` },
    maxPayload: MAX_RELAY_FRAME_BYTES,
    perMessageDeflate: false,
  });
  let problem = "";
  let refusal: Pick<SocketEnd, "status"> = {};
  socket.on("message", (data, isBinary) => events.message(isBinary ? null : String(data)));
  socket.on("error", ({ message }) => problem ||= message);
  socket.on("unexpected-response", async (_, response) => {
    refusal = { status: response.statusCode! };
    problem = await explanationOf(response);
    socket.terminate();
  });
  socket.on("close", (code, said) =>
    events.closed({
      code: code === ABNORMAL ? 0 : code,
      reason: String(said) || problem,
      ...refusal,
    }));
  return {
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send(text) {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close(code, reason) {
      if (socket.readyState === WebSocket.OPEN) socket.close(code, reason);
      else socket.close(CLOSE_CODES.normal.code);
    },
  };
}

/** The platform's HTTPS takes no notice of DENO_CERT; null unless that is set. */
function authorities(): { ca: string[] } | null {
  const path = Deno.env.get("DENO_CERT");
  if (!path) return null;
  return { ca: [...tls.getCACertificates("default"), Deno.readTextFileSync(path)] };
}

/** The code and sentence of an error object, or else the text as it is; empty when it breaks off. */
async function explanationOf(response: IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const part of response.setEncoding("utf8")) {
      text += part;
      if (text.length >= EXPLANATION_MAX) break;
    }
  } catch {
    return "";
  }
  try {
    const { code, message } = JSON.parse(text).error;
    return `${code}: ${message}`;
  } catch {
    return text.slice(0, EXPLANATION_MAX);
  }
}

/** The address of the link below the relay's base address. */
function linkAddress(base: string): string {
  const { protocol, host, pathname } = new URL(base);
  const secure = protocol === "https:" || protocol === "wss:";
  return `ws${secure ? "s" : ""}://${host}${pathname.replace(/\/+$/, "")}/ws`;
}
