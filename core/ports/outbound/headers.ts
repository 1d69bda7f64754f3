/**
 * Headers of the connection. Only the transport sets them: a caller who could set them might split one request
 * into two or have another host answer it.
 */
export const TRANSPORT_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
