import { printableLine } from "../codec/text.ts";

/** No request takes longer, whatever becomes of the relay. */
const TIMEOUT_MS = 30_000;

/** An answer of the relay; `Body` is what the caller expects its JSON to be. */
export interface Answer<Body> {
  readonly status: number;
  readonly requestId: string;
  readonly body: Body;
}

/** The error object of every refusal. */
export interface Refusal {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

/** Why there is no connection, and what to do where that is known; `fetch` says it in the cause alone. */
export function whyUnreached(error: unknown): string {
  const { message, cause } = error as Error;
  const why = cause instanceof Error ? cause.message : message;
  if (/self-signed|issuer|unable to verify/i.test(why)) {
    return `${why}: name the PEM file of your own authority in DENO_CERT`;
  }
  return /wrong version number|InvalidContentType/.test(why)
    ? `${why}: give an http:// address where it speaks no TLS`
    : why;
}

/** No whole answer came, for whatever reason. */
export class UnreachedError extends Error {}

/** Sends one request with a credential. @throws {UnreachedError} */
export type Client = <Body>(
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer<Body>>;

/** A client of the relay at `url`, as anybody would write one; without a credential it is anonymous. */
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
 * The body of an answer that has this status.
 * @throws {Error} with what was answered instead
 */
export function expectStatus<Body>(answer: Answer<Body>, status: number, what: string): Body {
  if (answer.status === status) return answer.body;
  const said = (answer.body as Partial<Refusal> | null)?.error;
  const why = said === undefined ? "" : printableLine(`: ${said.code}: ${said.message}`);
  throw new Error(`${what} was answered with ${answer.status} instead of ${status}${why}`);
}
