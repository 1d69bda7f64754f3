import type { Buffer } from "node:buffer";
import { Agent as HttpAgent, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import process from "node:process";
import * as tls from "node:tls";
import { WebSocket } from "ws";
import { AGENT_PROTOCOL, CLOSE_CODES, MAX_RELAY_FRAME_BYTES } from "../../../protocol/protocol.ts";
import { whyUnreached } from "../../unreached.ts";
import type { AgentSocket, SocketEnd, SocketEvents } from "../interfaces.ts";

/** The time from dialling to the relay's first byte, proxies included. */
const CONNECT_MS = 15_000;
/** The time that a close waits for the other side's close. */
const CLOSE_MS = 1_000;
/** The time that the relay gets to explain a refusal. */
const EXPLAIN_MS = 5_000;
/** The part of a refusal that is read, in UTF-16 units. */
const EXPLANATION_MAX = 2_000;
/** The code for "no closing handshake", which no peer can send (RFC 6455). */
const ABNORMAL = 1006;

/** The used part of the library's socket, which has no types. */
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
 * Opens the link over the network, through the proxy of HTTP_PROXY or HTTPS_PROXY if set, and trusting the authority
 * of DENO_CERT too. It does not use the platform's WebSocket, which writes a frame's head and body separately under
 * Nagle's algorithm, so that the body of each longer frame waits 40 ms for an acknowledgement. All errors are reported
 * as the end of the link, so that it is dialled again.
 */
export function dial(url: string, token: string, events: SocketEvents): AgentSocket {
  let socket: Socket;
  try {
    socket = openSocket(linkAddress(url), token);
  } catch (error) {
    const reason = reasonOf(error as NodeJS.ErrnoException);
    queueMicrotask(() => events.closed({ code: 0, reason }));
    return { bufferedAmount: 0, send() {}, close() {} };
  }
  let problem = "";
  let refusal: Partial<SocketEnd> = {};
  socket.on("message", (data, isBinary) => events.message(isBinary ? null : String(data)));
  socket.on("error", (error) => problem ||= reasonOf(error));
  socket.on("unexpected-response", async (_, response) => {
    refusal = { status: response.statusCode!, reason: await explanationOf(response) };
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

function openSocket(address: string, token: string): Socket {
  const secure = address.startsWith("wss:");
  // Without this a proxy that never finishes its tunnel would keep the connection forever.
  const options: object = {
    proxyEnv: process.env,
    timeout: CONNECT_MS,
    ...secure && authorities(),
  };
  return new WebSocket(address, [AGENT_PROTOCOL], {
    agent: secure ? new HttpsAgent(options) : new HttpAgent(options),
    headers: { authorization: `Bearer ${token}` },
    maxPayload: MAX_RELAY_FRAME_BYTES,
    perMessageDeflate: false,
    closeTimeout: CLOSE_MS,
  });
}

/** The authority of DENO_CERT, which the platform's HTTPS ignores; null when it is not set. */
function authorities(): { ca: string[] } | null {
  const path = Deno.env.get("DENO_CERT");
  if (!path) return null;
  return { ca: [...tls.getCACertificates("default"), Deno.readTextFileSync(path)] };
}

function reasonOf(error: NodeJS.ErrnoException): string {
  const { code, message } = error;
  // The original message contains the proxy's password.
  if (code === "ERR_PROXY_INVALID_CONFIG") {
    return "HTTP_PROXY and HTTPS_PROXY take the address of a proxy that begins with http:// or https://";
  }
  return code?.startsWith("HPE_")
    ? `${message}: give an https:// address if the server requires one`
    : whyUnreached(error);
}

/** The code and message of an error response, or its text; empty when it is incomplete. */
async function explanationOf(response: IncomingMessage): Promise<string> {
  const late = setTimeout(() => response.destroy(), EXPLAIN_MS);
  let text = "";
  try {
    for await (const part of response.setEncoding("utf8")) {
      text += part;
      if (text.length >= EXPLANATION_MAX) break;
    }
  } catch {
    return "";
  } finally {
    clearTimeout(late);
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
