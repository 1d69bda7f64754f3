import { refusalOf, RelayError } from "./error.ts";
import type { Platform } from "./platform.ts";

/** Answers that are read whole have at most this many bytes. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** Where and as whom the requests are sent. */
export interface Target {
  /** The relay's address: `https://relay.example.com`. */
  readonly url: string;
  readonly fetch: typeof fetch;
  /** The credential of the next request; null for none. */
  readonly token: () => Promise<string | null>;
  readonly space: "live" | "test" | null;
}

/** One request. */
export interface Request {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
  /** The deadline of the answer; null for a stream, which has none. */
  readonly timeoutMs: number | null;
}

/** Sends a request once; resolves when the head of a success has arrived. @throws {RelayError} */
export async function open(
  target: Target,
  platform: Platform,
  request: Request,
): Promise<Response> {
  const { method, path, body, signal, timeoutMs } = request;
  const named = `${method} ${pathOnly(path)}`;
  const token = await target.token();
  const headers = {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(target.space !== null && { "x-relay-space": target.space }),
    ...(body !== undefined && { "content-type": "application/json" }),
    ...request.headers,
  };
  const signals = timeoutMs === null ? [signal] : [signal, platform.deadline(timeoutMs)];
  try {
    const response = await target.fetch(`${target.url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.any(signals),
    });
    if (response.ok) return response;
    throw refusalOf(response, await textOf(response, named), named);
  } catch (error) {
    throw failureOf(error, target.url, named, signal);
  }
}

/** Sends a request once and reads the answer. @throws {RelayError} */
export async function exchange(
  target: Target,
  platform: Platform,
  request: Request,
): Promise<unknown> {
  const response = await open(target, platform, request);
  const named = `${request.method} ${pathOnly(request.path)}`;
  try {
    const text = await textOf(response, named);
    if (response.status === 204) return undefined;
    const json = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    return json ? JSON.parse(text) : text;
  } catch (error) {
    throw failureOf(error, target.url, named, request.signal);
  }
}

async function textOf({ body }: Response, path: string): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let [text, bytes] = ["", 0];
  while (true) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > ANSWER_BYTES_MAX) {
      await reader.cancel();
      const message = `The answer is larger than ${ANSWER_BYTES_MAX} bytes. Ask for less at once.`;
      throw new RelayError(message, { status: 0, code: "UNREADABLE", path });
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** What `fetch` or reading threw, as an error of the client; an abort by the caller stays what it is. */
function failureOf(cause: unknown, url: string, path: string, signal: AbortSignal): unknown {
  if (cause instanceof RelayError || signal.aborted) return cause;
  const about = { status: 0, path, cause };
  const { name, message } = cause as Error;
  if (name === "TimeoutError") {
    return new RelayError(`${url} did not answer in time. Try again.`, {
      ...about,
      code: "TIMED_OUT",
    });
  }
  if (name === "SyntaxError") {
    const text = `${url} sent an answer that is not JSON. Check the address.`;
    return new RelayError(text, { ...about, code: "UNREADABLE" });
  }
  const { cause: reason } = cause as Error;
  const why = reason instanceof Error ? reason.message : message;
  return new RelayError(`${url} cannot be reached: ${why}`, { ...about, code: "UNREACHED" });
}

const pathOnly = (path: string): string => path.split("?")[0]!;
