import type { ClientOptions } from "../../core/client/client.ts";
import { mulberry32 } from "../support/random.ts";

type Platform = NonNullable<ClientOptions["platform"]>;

/** A platform whose sleeps end at once and are recorded. Silences longer than that are never reached. */
export function recordedPlatform(seed = 7): Platform & { readonly slept: number[] } {
  const random = mulberry32(seed);
  const slept: number[] = [];
  let ids = 0;
  return {
    slept,
    now: () => 0,
    sleep: (ms, signal) => {
      if (ms < SILENCE_MS) return Promise.resolve(void slept.push(ms));
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    },
    deadline: () => new AbortController().signal,
    random,
    uuid: () => `key-${++ids}`,
  };
}

const SILENCE_MS = 60_000;

/** One request that a scripted `fetch` received. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A `fetch` that answers each request with the next step of a script; an error is thrown. */
export function scriptedFetch(steps: readonly (Response | Error)[]) {
  const sent: Sent[] = [];
  const answer = (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { pathname, search } = new URL(`${url}`);
    const { method = "GET", headers, body } = init;
    const step = steps[sent.length];
    sent.push({
      method,
      path: pathname + search,
      headers: new Headers(headers),
      body: typeof body === "string" ? JSON.parse(body) : undefined,
    });
    if (step === undefined) throw new Error(`no answer to ${method} ${url} is left`);
    return step instanceof Error ? Promise.reject(step) : Promise.resolve(step);
  };
  return { fetch: answer as typeof fetch, sent };
}

/** A refusal as the relay sends it. */
export const refusal = (
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
) =>
  Response.json(
    { error: { code, message: `${code}.`, details: { why: "a test" } } },
    { status, headers: { "x-request-id": "r-1", ...headers } },
  );
