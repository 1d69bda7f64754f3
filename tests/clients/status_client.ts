import { printableLine } from "../../core/cli/printable_line.ts";
import { whyUnreached } from "../../core/cli/unreached.ts";

/**
 * The deadline of a request. A command whose instances die one after the other, each before it has taken over from the
 * one before, is answered 95 s later at the latest: 5 s to hand it over, its own 60 s, and 30 s for the news of its end.
 */
const TIMEOUT_MS = 100_000;

/** A response of the relay. `Body` is the type that the caller expects. */
export interface Answer<Body> {
  readonly status: number;
  readonly requestId: string;
  readonly body: Body;
}

/** The body of every error response. */
export interface Refusal {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

/** Raised when no complete response arrived. */
export class UnreachedError extends Error {}

/** Sends one request with a credential. @throws {UnreachedError} */
export type Client = <Body>(
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer<Body>>;

/** A client of the relay's public API at `url`; anonymous without a credential. */
export function clientOf(url: string, credential?: string, send = fetch): Client {
  return async <Body>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer<Body>> => {
    const { response, text } = await whole(send(`${url}${path}`, {
      method,
      headers: {
        ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })).catch((cause) => {
      throw new UnreachedError(`${url} cannot be reached: ${whyUnreached(cause)}`, { cause });
    });
    const json = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    return {
      status: response.status,
      requestId: response.headers.get("x-request-id") ?? "",
      body: (json ? JSON.parse(text) : text) as Body,
    };
  };
}

async function whole(sent: Promise<Response>): Promise<{ response: Response; text: string }> {
  const response = await sent;
  return { response, text: await response.text() };
}

/**
 * The body of a response that must have this status.
 * @throws {Error} with the response instead
 */
export function expectStatus<Body>(answer: Answer<Body>, status: number, what: string): Body {
  if (answer.status === status) return answer.body;
  const said = (answer.body as Partial<Refusal> | null)?.error;
  const why = said === undefined ? "" : printableLine(`: ${said.code}: ${said.message}`);
  throw new Error(`${what} was answered with ${answer.status} instead of ${status}${why}`);
}
