/** The subprotocol of an event stream, which is also the default without one. */
export const EVENTS_PROTOCOL = "relay.events.v1";
/** The subprotocol of an event stream whose frames hold several messages, one on each line. */
export const BATCHES_PROTOCOL = "relay.events.batches.v1";
/** Those of an event stream, preferred ones first. */
export const STREAM_PROTOCOLS: readonly string[] = [BATCHES_PROTOCOL, EVENTS_PROTOCOL];

/** Prefix of a subprotocol that holds a credential, because browsers cannot set headers. */
const BEARER = "relay.bearer.";

/** Prefix of a subprotocol that holds the space, for the same reason. */
export const SPACE = "relay.space.";

/** True for a subprotocol that stands for a header. */
export const isOption = (name: string): boolean =>
  name.startsWith(BEARER) || name.startsWith(SPACE);

/** The WebSocket subprotocols that a client offers. */
export const offeredProtocols = (headers: Headers): string[] =>
  headers.get("sec-websocket-protocol")?.split(",").map((name) => name.trim())
    .filter((name) => name !== "") ?? [];

/** The credential among them, or null. */
export const bearerOffered = (headers: Headers): string | null => offeredAfter(headers, BEARER);

/** The space among them, unchecked, or null. */
export const spaceOffered = (headers: Headers): string | null => offeredAfter(headers, SPACE);

/** The rest of the first subprotocol with this prefix. */
function offeredAfter(headers: Headers, prefix: string): string | null {
  const offered = offeredProtocols(headers).find((name) => name.startsWith(prefix));
  return offered?.slice(prefix.length) ?? null;
}
