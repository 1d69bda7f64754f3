/** The subprotocol of an event stream, which is also the default without one. */
export const EVENTS_PROTOCOL = "relay.events.v1";
/** Prefix of a subprotocol that holds a credential, because browsers cannot set headers. */
export const BEARER = "relay.bearer.";

/** The WebSocket subprotocols that a client offers. */
export const offeredProtocols = (headers: Headers): string[] =>
  (headers.get("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim())
    .filter((name) => name !== "");

/** The credential among them, or null. */
export function bearerOffered(headers: Headers): string | null {
  const offered = offeredProtocols(headers).find((name) => name.startsWith(BEARER));
  return offered?.slice(BEARER.length) ?? null;
}
