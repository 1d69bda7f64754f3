import { Fault } from "../../core/fault/fault.ts";
import { ContentionError, DuplicateError, StoreUnavailableError } from "../../kv/store/errors.ts";
import type { Cookie } from "../../core/work/cookie.ts";
import type { Actor } from "../../core/work/work.ts";
import { type LimitState, retryAfterOf, tooMany } from "../../core/access/limits/limiter.ts";
import { sha256Hex } from "../../core/codec/text.ts";
import type { Content } from "./route.ts";

/** What every response carries, whatever it says. */
export interface Envelope {
  readonly requestId: string;
  readonly limit: LimitState;
  readonly noStore?: boolean | undefined;
  /** The API key that asked, if one did: an old value of it is told to be one. */
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

/** A JSON answer. */
export function json(envelope: Envelope, status: number, value: unknown): Response {
  const text = JSON.stringify(value);
  const headers = headersOf(envelope);
  if (status === 200) return okJson(text, headers);
  headers["content-type"] = "application/json";
  return new Response(text, { status, headers });
}

/**
 * A 200 with a JSON text. A lone content type costs the runtime next to nothing, and so does adding to it;
 * several headers given at once would be copied out of the engine and watched until they are sent.
 */
export function okJson(text: string, headers: Readonly<Record<string, string>>): Response {
  const response = new Response(text, { headers: { "content-type": "application/json" } });
  for (const name in headers) response.headers.append(name, headers[name]!);
  return response;
}

/** A cookie for this host alone, which no script reads and no other site sends with what it posts. */
export function setCookie({ name, value, maxAgeSeconds }: Cookie): string {
  const age = value === null ? 0 : maxAgeSeconds;
  return `${name}=${value ?? ""}; Path=/; Max-Age=${age}; Secure; HttpOnly; SameSite=Lax`;
}

/**
 * An answer that is not JSON; a stream is pulled only as fast as the client reads. `ended` is called once,
 * when a stream has ended or the client has gone away; never for a text.
 */
export function content(envelope: Envelope, answer: Content, ended = () => {}): Response {
  const { type, body, filename } = answer;
  const headers = { ...answer.headers, ...headersOf(envelope) };
  headers["content-type"] = type;
  if (filename) headers["content-disposition"] = `attachment; filename="${filename}"`;
  const said = typeof body === "string" ? body : streamOf(body, ended);
  return new Response(said, { status: 200, headers });
}

/** A text that stays the same until the next version: 304 for whoever has it already (RFC 9110, 13.1.2). */
export function fixedContent(envelope: Envelope, answer: Content, asked: Headers): Response {
  const etag = etagOf(answer);
  const headers = { ...answer.headers, etag, "cache-control": "no-cache" };
  const had = asked.get("if-none-match")?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return had?.includes(etag) || had?.includes("*")
    ? new Response(null, { status: 304, headers: { ...headers, ...headersOf(envelope) } })
    : content(envelope, { ...answer, headers });
}

const etags = new WeakMap<Content, string>();

function etagOf(answer: Content): string {
  const known = etags.get(answer);
  if (known !== undefined) return known;
  const etag = `"${sha256Hex(answer.body as string)}"`;
  etags.set(answer, etag);
  return etag;
}

/**
 * What `failure` would answer to a request over its limit, neither thrown nor serialized: a flood of
 * these must cost little. Nothing in it needs an escape: numbers, names and sentences of ours.
 */
export function overLimit(envelope: Envelope, nowMs: number): Response {
  const { claim, resetMs } = envelope.limit;
  const retryAfter = retryAfterOf(envelope.limit, nowMs);
  const same = last.claim === claim && last.resetMs === resetMs && last.retryAfter === retryAfter;
  if (!same) last = { claim, resetMs, retryAfter, text: beginningOf(envelope.limit, nowMs) };
  const headers = headersOf(envelope);
  headers["content-type"] = "application/json";
  headers["retry-after"] = `${retryAfter}`;
  return new Response(`${last.text}"${envelope.requestId}"}}}`, { status: 429, headers });
}

/** All but the request's id is the same for a second, for whoever does not stop asking. */
let last: {
  readonly claim: LimitState["claim"] | null;
  readonly resetMs: number;
  readonly retryAfter: number;
  readonly text: string;
} = { claim: null, resetMs: 0, retryAfter: 0, text: "" };

function beginningOf(state: LimitState, nowMs: number): string {
  const { code, message, details: { limit, scope, reset, retry_after } } = tooMany(state, nowMs);
  return `{"error":{"code":"${code}","message":"${message}","details":{"limit":${limit},` +
    `"scope":"${scope}","reset":${reset},"retry_after":${retry_after},"request_id":`;
}

/** The headers of every refusal as JSON, whatever protocol words it. */
export function refusalHeaders(envelope: Envelope, fault: Fault | null): Record<string, string> {
  const headers = headersOf(envelope);
  headers["content-type"] = "application/json";
  const after = fault?.details.retry_after;
  if (typeof after === "number") headers["retry-after"] = `${after}`;
  return headers;
}

/** The error object of the interface. */
export function failure(envelope: Envelope, fault: Fault): Response {
  const headers = refusalHeaders(envelope, fault);
  if (fault.status === 401) headers["www-authenticate"] = 'Bearer realm="relay"';
  if (fault.status === 426) headers["upgrade"] = "websocket";
  if (Array.isArray(fault.details.allow)) headers["allow"] = fault.details.allow.join(", ");
  const details = { ...fault.details, request_id: envelope.requestId };
  const error = { code: fault.code, message: fault.message, details };
  return new Response(JSON.stringify({ error }), { status: fault.status, headers });
}

/** What a caller may know of an error; null when it is a bug, which only the log may know. */
export function faultOf(error: unknown): Fault | null {
  if (error instanceof Fault) return error;
  if (error instanceof DuplicateError) {
    return new Fault("CONFLICT", "Another resource has this name or key already.");
  }
  if (error instanceof ContentionError || error instanceof StoreUnavailableError) {
    return new Fault("UNAVAILABLE", undefined, {}, { cause: error });
  }
  return null;
}

/** The same response; `ended` is called once, when it has been read to its end or is read no more. */
export function whenRead(response: Response, ended: () => void): Response {
  const reader = response.body!.getReader();
  const body = pulled(() => reader.read(), (reason) => reader.cancel(reason), ended);
  return new Response(body, response);
}

const encoder = new TextEncoder();
const bytesOf = (part: string | Uint8Array<ArrayBuffer>) =>
  typeof part === "string" ? encoder.encode(part) : part;

function streamOf(
  parts: AsyncIterable<string | Uint8Array<ArrayBuffer>>,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const iterator = parts[Symbol.asyncIterator]();
  const next = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    const { done, value } = await iterator.next();
    return done ? { done } : { done: false, value: bytesOf(value) };
  };
  return pulled(next, () => iterator.return?.(), ended);
}

/** A stream that reads ahead of nobody; `ended` is called once, at its end, an error or a cancel. */
function pulled(
  next: () => Promise<ReadableStreamReadResult<Uint8Array>>,
  stop: (reason: unknown) => unknown,
  ended: () => void,
): ReadableStream<Uint8Array> {
  let over = false;
  const end = () => {
    if (!over) ended();
    over = true;
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await next();
        if (!done) return controller.enqueue(value);
        controller.close();
        end();
      } catch (error) {
        end();
        throw error;
      }
    },
    async cancel(reason) {
      end();
      await stop(reason);
    },
  }, { highWaterMark: 0 });
}
