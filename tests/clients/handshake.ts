/** The head of a request for a WebSocket at `/ws`, as it goes over TCP. */
export function handshake(key: string, protocol: string): string {
  return [
    "GET /ws HTTP/1.1",
    "Host: 127.0.0.1",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    `X-Api-Key: ${key}`,
    ...(protocol === "" ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    "\r\n",
  ].join("\r\n");
}
