import { hash } from "node:crypto";
import type { Trace } from "../../kv/store/trace.ts";
import type { Actor } from "../../core/identity/identity.ts";
import type { LimitState } from "../../core/access/access.ts";
import type { Content } from "../call/route.ts";
import { type Coding, codingFor, encode } from "./coding.ts";
import { streamOf } from "./response_stream.ts";

/** What the headers of every response are made of. */
export interface Envelope {
  readonly requestId: string;
  /** The request's trace, if it is traced. */
  readonly trace?: Trace | null;
  readonly limit: LimitState;
  readonly noStore?: boolean | undefined;
  /** The caller's API key, if any. Responses to its old value carry `Deprecation` and `Sunset`. */
  readonly key?: Actor["key"];
}

/** The headers of every response. */
export function headersOf({ requestId, limit, noStore, key }: Envelope): Record<string, string> {
  const headers: Record<string, string> = {
    "x-request-id": requestId,
    "x-ratelimit-limit": `${limit.claim.limit}`,
    "x-ratelimit-remaining": `${limit.remaining}`,
    "x-ratelimit-reset": `${Math.ceil(limit.resetMs / 1000)}`,
  };
  if (noStore) headers["cache-control"] = "no-store";
  if (key?.oldSinceMs && key.oldUntilMs) {
    headers["deprecation"] = `@${Math.floor(key.oldSinceMs / 1000)}`; // RFC 9745
    headers["sunset"] = new Date(key.oldUntilMs).toUTCString(); // RFC 8594
  }
  return headers;
}

/** A JSON response. */
export function json(envelope: Envelope, status: number, value: unknown): Response {
  const text = JSON.stringify(value);
  const headers = headersOf(envelope);
  if (status === 200) return okJson(text, headers);
  headers["content-type"] = "application/json";
  return new Response(text, { status, headers });
}

/**
 * A 200 with a JSON text. The runtime has a fast path for a lone content type, and appending to it is
 * cheap. Several headers given to the constructor are copied one by one.
 */
export function okJson(text: string, headers: Readonly<Record<string, string>>): Response {
  const response = new Response(text, { headers: { "content-type": "application/json" } });
  for (const name in headers) response.headers.append(name, headers[name]!);
  return response;
}

/**
 * A response that is not JSON. A stream is pulled as fast as the client reads. `ended` is called once, when
 * a stream has ended or the client has gone; it is not called for a text.
 */
export function content(envelope: Envelope, answer: Content, ended = () => {}): Response {
  const { type, body, filename } = answer;
  const headers = { ...answer.headers, ...headersOf(envelope) };
  headers["content-type"] = type;
  if (filename) headers["content-disposition"] = `attachment; filename="${filename}"`;
  const sent = typeof body === "string" ? body : streamOf(body, ended);
  return new Response(sent, { status: 200, headers });
}

/**
 * A text that is the same until the next version, in a coding that the client accepts: 304 for a client that has
 * it (RFC 9110, 13.1.2). Each coding is made once in a process, when a client first asks for it.
 */
export function fixedContent(envelope: Envelope, answer: Content, asked: Headers): Response {
  const coding = codingFor(asked.get("accept-encoding"));
  const { etag, bytes } = codedOf(answer, coding);
  const headers: Record<string, string> = {
    ...answer.headers,
    etag,
    "cache-control": "no-cache",
    "vary": "accept-encoding",
    ...headersOf(envelope),
  };
  const had = asked.get("if-none-match")?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (had?.includes(etag) || had?.includes("*")) {
    return new Response(null, { status: 304, headers });
  }
  headers["content-type"] = answer.type;
  if (coding !== "identity") headers["content-encoding"] = coding;
  return new Response(bytes, { status: 200, headers });
}

interface Coded {
  readonly etag: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const made: Readonly<Record<Coding, WeakMap<Content, Coded>>> = {
  br: new WeakMap(),
  gzip: new WeakMap(),
  identity: new WeakMap(),
};

function codedOf(answer: Content, coding: Coding): Coded {
  const known = made[coding].get(answer);
  if (known !== undefined) return known;
  const bytes = encode(answer.body as string, coding);
  const coded = { etag: `"${hash("sha256", bytes)}"`, bytes };
  made[coding].set(answer, coded);
  return coded;
}
