import { type Outbound, OutboundError, type OutboundResponse } from "../interfaces.ts";

/** Longer headers are dropped: libraries parse challenges in quadratic time. */
const HEADER_CHARS_MAX = 1024;
/** Statuses with which a Response must not have a body. */
const BODILESS = [204, 205, 304];

/** As much of `fetch` as libraries need that send forms. */
type Fetch = (url: string, init: {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | string | null | undefined;
}) => Promise<Response>;

/** A `fetch` for a library, which sends by the outbound port. It throws `OutboundError`. */
export const fetchBy = (outbound: Outbound, { organization, deadlineMs, keepBytes, statusOf }: {
  readonly organization: string | null;
  readonly deadlineMs: number;
  readonly keepBytes: number;
  /** The status that the library sees. */
  readonly statusOf?: (answer: OutboundResponse) => number;
}): Fetch =>
async (url, { method, headers, body }) => {
  const answer = await outbound.request({
    organization,
    method,
    url,
    headers: {
      ...headers,
      ...(body instanceof URLSearchParams &&
        { "content-type": "application/x-www-form-urlencoded;charset=UTF-8" }),
    },
    ...(body && { body: body.toString() }),
    deadlineMs,
    keepBytes,
  });
  if (answer.truncated) throw new OutboundError("http", "The provider's response is incomplete.");
  const status = statusOf?.(answer) ?? answer.status;
  if (status < 200 || status > 599) {
    throw new OutboundError("http", `The provider's response has the status ${status}.`);
  }
  const bytes = BODILESS.includes(status) ? null : answer.bytes;
  const read = Object.entries(answer.headers).filter(([, value]) =>
    value.length <= HEADER_CHARS_MAX
  );
  return new Response(bytes, { status, headers: read });
};
