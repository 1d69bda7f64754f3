/**
 * A typed client of the relay's API, for Deno, Node and browsers. It imports nothing of Relay and no package; `fetch`
 * is passed in. It promises:
 *
 * - Inputs and answers have the types of docs/openapi.json, from which types.ts and operations.ts are written.
 * - A request is sent again only when that cannot change anything twice.
 * - Every failure is a `RelayError`; an abort by the caller rejects with the signal's reason.
 *
 * It keeps no state besides its options, so it works the same with any number of instances.
 */

import { RelayError } from "./error.ts";
import { exchange, open, type Request, type Target } from "./exchange.ts";
import { OPERATIONS } from "./operations.ts";
import { PLATFORM, type Platform } from "./platform.ts";
import { retryDelayMs } from "./retry.ts";
import type { StreamEvent } from "./sse.ts";
import { followStream } from "./stream.ts";
import type { Operations, Streams } from "./types.ts";

/** The deadline of one attempt. */
const TIMEOUT_MS = 30_000;

export interface ClientOptions {
  /** The relay's address, such as `https://relay.example.com`. */
  readonly url: string;
  readonly fetch: typeof fetch;
  /** A JWT or an API key, or what returns the present one before each request; null for anonymous. */
  readonly token?: string | null | (() => Promise<string | null>);
  /** The space of a signed-in user; keys have their own. */
  readonly space?: "live" | "test";
  /** Time and randomness; tests pass their own. */
  readonly platform?: Platform;
}

interface CallOptions {
  /** Aborts the call. */
  readonly signal?: AbortSignal | undefined;
  /** The deadline of each attempt; 30 s by default. */
  readonly timeoutMs?: number | undefined;
  /** For operations that take one; the client makes one by default. */
  readonly idempotencyKey?: string | undefined;
  /** The media type, for operations with several. */
  readonly accept?: string | undefined;
}

interface StreamCallOptions {
  /** Ends the stream. */
  readonly signal?: AbortSignal | undefined;
  /** The id of the last event seen. */
  readonly lastEventId?: string | undefined;
}

type Input<O> = Omit<O, "answer">;
type Answer<O> = O extends { readonly answer: infer A } ? A : never;
/** The input may be left out when nothing in it is required. */
type Arguments<O, Options> = Record<never, never> extends Input<O> ? [input?: Input<O> & Options]
  : [input: Input<O> & Options];

export interface Client {
  /** Calls an operation and reads its answer whole. @throws {RelayError} */
  call<Id extends keyof Operations>(
    id: Id,
    ...input: Arguments<Operations[Id], CallOptions>
  ): Promise<Answer<Operations[Id]>>;
  /** Calls an operation once and leaves the body of its answer to the caller. @throws {RelayError} */
  open<Id extends keyof Operations>(
    id: Id,
    ...input: Arguments<Operations[Id], CallOptions>
  ): Promise<Response>;
  /** Follows a stream of events; see `followStream`. @throws {RelayError} */
  stream<Id extends keyof Streams>(
    id: Id,
    ...input: Arguments<Streams[Id], StreamCallOptions>
  ): AsyncGenerator<StreamEvent, void>;
}

/** A client of one relay. */
export function createClient(options: ClientOptions): Client {
  const { token = null, platform = PLATFORM } = options;
  const target: Target = {
    url: options.url.replace(/\/+$/, ""),
    fetch: options.fetch,
    token: typeof token === "function" ? token : () => Promise.resolve(token),
    space: options.space ?? null,
  };
  return {
    call: async (id, ...[input = {}]) =>
      await repeat(platform, id, input, (request) => exchange(target, platform, request)) as never,
    open: (id, ...[input = {}]) => open(target, platform, requestOf(id, input, platform)),
    stream(id, ...[input = {}]) {
      const given: AnyInput = input;
      const signal = given.signal ?? new AbortController().signal;
      const [method, path] = OPERATIONS[id];
      return followStream({
        open: (lastEventId, connection) => {
          const request = requestOf(id, { ...given, accept: "text/event-stream" }, platform);
          return open(target, platform, {
            ...request,
            headers: {
              ...request.headers,
              ...(lastEventId !== null && { "last-event-id": lastEventId }),
            },
            signal: connection,
            timeoutMs: null,
          });
        },
        lastEventId: given.lastEventId ?? null,
        renewsToken: typeof token === "function",
        path: `${method} ${path}`,
        signal,
        platform,
      });
    },
  };
}

/** What the inputs of all operations may hold. */
interface AnyInput extends CallOptions, StreamCallOptions {
  readonly params?: object;
  readonly query?: object | undefined;
  readonly body?: unknown;
}

/** Sends a request until it succeeds, fails for good, or was sent often enough. */
async function repeat<R>(
  platform: Platform,
  id: keyof Operations,
  input: AnyInput,
  send: (request: Request) => Promise<R>,
): Promise<R> {
  const request = requestOf(id, input, platform);
  const [, , repetition] = OPERATIONS[id];
  for (let attempt = 1;; attempt++) {
    try {
      return await send(request);
    } catch (error) {
      if (!(error instanceof RelayError)) throw error;
      const delayMs = retryDelayMs(error, { repetition, attempt, random: platform.random() });
      if (delayMs === null) throw error;
      await platform.sleep(delayMs, request.signal);
      request.signal.throwIfAborted();
    }
  }
}

function requestOf(
  id: keyof typeof OPERATIONS,
  { params = {}, query = {}, ...input }: AnyInput,
  platform: Platform,
): Request {
  const [method, template, repetition] = OPERATIONS[id];
  const values = params as Readonly<Record<string, unknown>>;
  const path = template.replaceAll(
    /\{(\w+)\}/g,
    (_, name) => encodeURIComponent(`${values[name]}`),
  );
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, `${value}`]));
  return {
    method,
    path: given.length === 0 ? path : `${path}?${search}`,
    headers: {
      accept: input.accept ?? "application/json",
      ...(repetition === "keyed" && { "idempotency-key": input.idempotencyKey ?? platform.uuid() }),
    },
    body: input.body,
    signal: input.signal ?? new AbortController().signal,
    timeoutMs: input.timeoutMs ?? TIMEOUT_MS,
  };
}

export { refusalOf, RelayError } from "./error.ts";
export { backoffMs } from "./retry.ts";
export { EventParser, type StreamEvent } from "./sse.ts";
export type * from "./types.ts";
export { type ReceivedWebhook, verifyWebhook, type WebhookDelivery } from "./webhook.ts";
