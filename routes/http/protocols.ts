/** A stream of events; the same as no subprotocol. */
export const EVENTS_PROTOCOL = "relay.events.v1";
/** A browser cannot set headers: it offers its credential as a further subprotocol. */
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
