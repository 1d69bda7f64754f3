import { Buffer } from "node:buffer";
import {
  type Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
} from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";

import {
  type Clock,
  OutboundError,
  type OutboundRequest,
  type OutboundResponse,
} from "../ports.ts";
import { classifyFailure, type Phase } from "./failure.ts";
import { TRANSPORT_HEADERS } from "./headers.ts";
import { dialledHost } from "./target.ts";

/** A response whose head is there; `bytes` gives what is kept of its body so far. */
interface Received {
  readonly incoming: IncomingMessage;
  readonly bytes: () => Uint8Array<ArrayBuffer>;
}

/**
 * One request over one socket of `agent`, never sent twice. Rejects when no response head arrives
 * before the deadline; a body that is slow, endless or broken only cuts what is kept of it.
 * @throws {OutboundError}
 */
export function exchange(
  request: OutboundRequest,
  via: { url: URL; agent: Agent; clock: Clock },
): Promise<OutboundResponse> {
  return new Promise((resolve, reject) => {
    const outgoing = open(request, via.url, via.agent);
    const progress: { phase: Phase; received: Received | null } = {
      phase: "connect",
      received: null,
    };
    let settled = false;
    /** Answers the caller once; without a reason the exchange is complete. */
    const settle = (reason: Error | null) => {
      if (settled) return;
      settled = true;
      cancel();
      if (progress.received !== null) resolve(responseOf(progress.received, reason !== null));
      else reject(classifyFailure(reason, progress.phase));
      // A receiver that answers without reading the request must not keep the socket either.
      if (reason !== null || !outgoing.writableFinished) outgoing.destroy();
    };
    const cancel = via.clock.after(
      request.deadlineMs,
      () => settle(timedOut(request.deadlineMs, progress.phase)),
    );
    outgoing.on("socket", (socket) => {
      followSocket(socket, outgoing, via.url, (phase) => progress.phase = phase);
    });
    outgoing.on("response", (incoming) => {
      progress.received = { incoming, bytes: keepBody(incoming, request.keepBytes, settle) };
    });
    outgoing.on("error", settle);
    outgoing.on("close", () => {
      if (!settled) settle(new Error("the connection closed without a response"));
    });
    outgoing.end(request.body);
  });
}

function open(request: OutboundRequest, url: URL, agent: Agent): ClientRequest {
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  try {
    return send({
      agent,
      method: request.method,
      hostname: dialledHost(url),
      port: url.port,
      path: url.pathname + url.search,
      headers: wireHeaders(request, url),
    });
  } catch (cause) {
    throw new OutboundError("http", "The request cannot be written as HTTP.", { cause });
  }
}

/** Compression is declined, because what is kept of a body is shown as it came. */
function wireHeaders(request: OutboundRequest, url: URL): string[] {
  // A list is written as it is, where an object would be copied header by header.
  const list = ["host", url.host];
  let agent = false, encoding = false;
  for (const name in request.headers) {
    const lower = name.toLowerCase();
    if (TRANSPORT_HEADERS.has(lower)) continue;
    agent ||= lower === "user-agent";
    encoding ||= lower === "accept-encoding";
    list.push(name, request.headers[name]!);
  }
  if (!agent) list.push("user-agent", "Relay");
  if (!encoding) list.push("accept-encoding", "identity");
  if (request.body !== undefined) {
    list.push("content-length", `${Buffer.byteLength(request.body)}`);
  }
  return list;
}

/** Sockets on which nothing but the exchange is left to do. */
const ready = new WeakSet<Socket>();

function followSocket(
  socket: Socket,
  outgoing: ClientRequest,
  url: URL,
  enter: (phase: Phase) => void,
): void {
  // Deno sends a request again when a reused socket breaks, even when its caller broke it at the
  // deadline (denoland/deno#36786). Only the caller may decide to send anything twice.
  outgoing.reusedSocket = false;
  // A request that waited in line for a socket is not told that it is a used one.
  if (ready.has(socket)) return enter("http");
  const open = () => {
    ready.add(socket);
    enter("http");
  };
  if (url.protocol === "https:") {
    socket.once("connect", () => enter("tls"));
    socket.once("secureConnect", open);
  } else {
    socket.once("connect", open);
  }
}

/** Collects up to `keepBytes` and settles at the end, with a reason when the body is not whole. */
function keepBody(
  incoming: IncomingMessage,
  keepBytes: number,
  settle: (reason: Error | null) => void,
): () => Uint8Array<ArrayBuffer> {
  const chunks: Uint8Array[] = [];
  let room = keepBytes;
  incoming.on("data", (chunk: Buffer) => {
    if (room > 0) chunks.push(chunk.subarray(0, room));
    room -= chunk.length;
    if (room < 0) settle(new Error("the body is larger than what is kept"));
  });
  incoming.on("end", () => settle(null));
  incoming.on("error", settle);
  return () => new Uint8Array(Buffer.concat(chunks));
}

function responseOf({ incoming, bytes }: Received, truncated: boolean): OutboundResponse {
  const kept = bytes();
  return {
    status: incoming.statusCode ?? 0,
    headers: flatHeaders(incoming.headers),
    bytes: kept,
    get body() {
      // A character cut in two at the end is dropped rather than shown as a replacement character.
      if (kept.length === 0) return "";
      return new TextDecoder().decode(kept, { stream: truncated });
    },
    truncated,
  };
}

function flatHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}

function timedOut(deadlineMs: number, phase: Phase): OutboundError {
  const missing = { connect: "connection", tls: "TLS handshake", http: "response head" }[phase];
  return new OutboundError("timeout", `No ${missing} within ${deadlineMs} ms.`);
}
