import { Buffer } from "node:buffer";
import type { Socket } from "node:net";

import { OutboundError, type OutboundRequest } from "../interfaces.ts";
import { TRANSPORT_HEADERS } from "./headers.ts";

const METHOD = /^[A-Z]+$/;
/** One field line (RFC 9110), in ASCII; anything else could split a request into two. */
const FIELD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [\t\x20-\x7e]*$/;

/** Formats the head of a request. @throws {OutboundError} when it would not be valid HTTP */
export function headOf(request: OutboundRequest, url: URL): string {
  const { method, body } = request;
  if (!METHOD.test(method)) throw new OutboundError("http", `There is no method ${method}.`);
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  if (body !== undefined) head += `content-length: ${Buffer.byteLength(body)}\r\n`;
  let agent = false, encoding = false;
  for (const name in request.headers) {
    const lower = name.toLowerCase();
    if (TRANSPORT_HEADERS.has(lower)) continue;
    const line = `${name}: ${request.headers[name]}`;
    if (!FIELD.test(line)) {
      throw new OutboundError("http", "The request cannot be written as HTTP.");
    }
    agent ||= lower === "user-agent";
    encoding ||= lower === "accept-encoding";
    head += `${line}\r\n`;
  }
  // Compression is declined, because logs show the body as received.
  if (!encoding) head += "accept-encoding: identity\r\n";
  if (!agent) head += "user-agent: Relay\r\n";
  return `${head}\r\n`;
}

/** Writes a request. A text body goes out in one write with its ASCII head. */
export function writeRequest(socket: Socket, head: string, body?: string | Uint8Array): void {
  socket.write(Buffer.from(typeof body === "string" ? head + body : head));
  if (body instanceof Uint8Array) socket.write(body);
}
