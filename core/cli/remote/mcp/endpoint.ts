import { EventParser, refusalOf, RelayError } from "../../../client/client.ts";
import type { Host } from "../host.ts";
import { NotSignedInError, type Target } from "../target.ts";
import { isFields } from "./message.ts";

/** An answer without a byte for this long counts as lost. A stream has a sign of life every 15 s. */
const SILENCE_MS = 120_000;
/** The most characters of one answer: a command's output of 1 MiB, escaped twice, and more. */
const ANSWER_CHARS_MAX = 32 * 1024 * 1024;
const PATH = "POST /mcp";

/** One request to the relay. */
interface Sending {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Called once the relay accepts it. */
  readonly opened?: () => Promise<void>;
  /** Takes each message of the answer, with the delay after which the relay wants a stream to be opened again. */
  readonly receive: (
    message: Readonly<Record<string, unknown>>,
    retryMs: number | null,
  ) => Promise<void>;
}

/** The end of an answer. */
export interface Ended {
  /** The session that it opened. */
  readonly session: string | null;
  readonly retryMs: number | null;
}

/** Raised when the relay does not know the session of a request any more. */
export class SessionEndedError extends RelayError {
  constructor() {
    super("The session has ended.", { status: 404, code: "NOT_FOUND", path: PATH });
  }
}

/** The relay's endpoint, for one kind of credential and set of tools. */
export class Endpoint {
  readonly #url: string;

  constructor(
    private readonly target: Target,
    tools: string,
    private readonly host: Pick<Host, "fetch" | "after">,
  ) {
    this.#url = `${target.url}/mcp${tools === "all" ? "" : `?tools=${tools}`}`;
  }

  /**
   * Sends a request and passes the messages of its answer on. A refusal that is a JSON-RPC message is one of them.
   * @throws {RelayError} @throws {SessionEndedError} @throws the signal's reason when it is aborted
   */
  async send({ signal, ...sending }: Sending): Promise<Ended> {
    const connection = new AbortController();
    let forget = () => {};
    const alive = () => {
      forget();
      forget = this.host.after(SILENCE_MS, () => connection.abort());
    };
    try {
      const both = AbortSignal.any([signal, connection.signal]);
      alive();
      const response = await this.#open(sending, both);
      alive();
      return await this.#read(response, { ...sending, signal: both }, alive);
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error, this.target.url);
    } finally {
      forget();
      connection.abort();
    }
  }

  async #open({ method, headers, body }: Omit<Sending, "signal">, signal: AbortSignal) {
    return await this.host.fetch(this.#url, {
      method,
      headers: {
        authorization: `Bearer ${await this.target.token()}`,
        accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      redirect: "error",
      signal,
    });
  }

  async #read(
    response: Response,
    { headers, signal, opened, receive }: Sending,
    alive: () => void,
  ): Promise<Ended> {
    const session = response.headers.get("mcp-session-id");
    if (response.status === 404 && "mcp-session-id" in headers) {
      throw new SessionEndedError();
    }
    if (response.ok) await opened?.();
    const type = response.headers.get("content-type") ?? "";
    if (type.startsWith("text/event-stream")) {
      const parser = new EventParser(null, PATH, ANSWER_CHARS_MAX);
      for await (const text of textsOf(response, signal)) {
        alive();
        for (const { data } of parser.read(text)) {
          if (isFields(data)) await receive(data, parser.retryMs);
        }
      }
      return { session, retryMs: parser.retryMs };
    }
    let text = "";
    for await (const part of textsOf(response, signal)) {
      alive();
      text += part;
      if (text.length > ANSWER_CHARS_MAX) throw unreadable("The answer is too large.");
    }
    const message = jsonOf(text);
    if (isFields(message) && "jsonrpc" in message) await receive(message, null);
    else if (!response.ok) throw refusalOf(response, text, PATH);
    return { session, retryMs: null };
  }
}

async function* textsOf({ body }: Response, signal: AbortSignal): AsyncGenerator<string> {
  if (body !== null) yield* body.pipeThrough(new TextDecoderStream(), { signal });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const unreadable = (message: string) =>
  new RelayError(message, { status: 0, code: "UNREADABLE", path: PATH });

/** What `fetch` or reading threw; `details.sent` is false when nothing reached the relay. */
function failureOf(cause: unknown, url: string): unknown {
  if (cause instanceof NotSignedInError) {
    return new RelayError(cause.message, { status: 401, code: "INVALID_TOKEN", path: PATH, cause });
  }
  if (cause instanceof RelayError) {
    if (cause.status !== 401) return cause;
    const message = `${cause.message} Sign in again: relay login --url ${url}`;
    return new RelayError(message, { status: 401, code: cause.code, path: PATH, cause });
  }
  const { cause: reason, message } = cause as Error;
  const why = reason instanceof Error ? reason.message : message;
  const details = why.includes("(Connect)") ? { sent: false } : {};
  return new RelayError(`${url} cannot be reached: ${why}.`, {
    status: 0,
    code: "UNREACHED",
    path: PATH,
    details,
    cause,
  });
}
