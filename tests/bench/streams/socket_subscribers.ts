import { wallMs } from "../wall.ts";

/**
 * Clients of `/ws` over raw TCP, by a key, whose limit of connections is the relay's to set: a person has few
 * streams. Arguments: port, key, how many, the subprotocol, and a query if there is one.
 * Prints `{}` once all have had their hello, then, for each event that every one of them has, its number, counted
 * from 1, and the instant at which the last one had it, in ms since the epoch.
 */
const [port, key, count, protocol, query = ""] = Deno.args as [
  string,
  string,
  string,
  string,
  string?,
];
const clients = Number(count);
const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");
const [TEXT, PING, NEWLINE] = [1, 9, 0x0a];
/** The first letter of a message's type says whether it is an event: others are "hello" and "heartbeat". */
const [TYPE_AT, EVENT] = ['{"type":"'.length, 0x65];
const EMPTY_PONG = new Uint8Array([0x8a, 0x80, 0, 0, 0, 0]);
/** How many clients have each event, in the order of the events. */
const having: number[] = [];

async function connect(): Promise<void> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  const head = [
    `GET /ws${query} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Authorization: Bearer ${key}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    `Sec-WebSocket-Protocol: ${protocol}`,
    "",
    "",
  ];
  await socket.write(encoder.encode(head.join("\r\n")));
  const hello = Promise.withResolvers<void>();
  follow(socket, hello.resolve).catch((error) => {
    console.error(error);
    Deno.exit(1);
  });
  await hello.promise;
}

async function follow(socket: Deno.TcpConn, begun: () => void): Promise<never> {
  const buffer = new Uint8Array(64 * 1024);
  let [held, events] = [await readHead(socket, buffer), 0];
  for (;;) {
    let at = 0;
    for (let frame; (frame = frameAt(buffer, at, held)) !== null; at = frame.end) {
      if (frame.opcode === PING) await socket.write(EMPTY_PONG);
      if (frame.opcode !== TEXT) continue;
      begun();
      const text = buffer.subarray(frame.start, frame.end);
      for (let line = 0; line !== -1; line = text.indexOf(NEWLINE, line + 1)) {
        const start = line === 0 ? 0 : line + 1;
        if (text[start + TYPE_AT] === EVENT) has(events++);
      }
    }
    buffer.copyWithin(0, at, held);
    held -= at;
    const n = await socket.read(buffer.subarray(held));
    if (n === null) throw new Error("a stream has ended");
    held += n;
  }
}

/** Reads the answer to the handshake. Returns how many bytes after it the buffer holds. */
async function readHead(socket: Deno.TcpConn, buffer: Uint8Array): Promise<number> {
  for (let held = 0;;) {
    const n = await socket.read(buffer.subarray(held));
    held += n ?? 0;
    const text = decoder.decode(buffer.subarray(0, held));
    const body = text.indexOf("\r\n\r\n") + 4;
    if (n === null || body > 3 && !text.startsWith("HTTP/1.1 101")) {
      throw new Error(`a stream was refused: ${text}`);
    }
    if (body < 4) continue;
    buffer.copyWithin(0, body, held);
    return held - body;
  }
}

/** The frame that begins here; null while it is not whole. */
function frameAt(buffer: Uint8Array, at: number, end: number) {
  if (end - at < (buffer[at + 1] === 126 ? 4 : 2)) return null;
  const short = buffer[at + 1]!;
  const start = at + (short === 126 ? 4 : 2);
  const last = start + (short === 126 ? buffer[at + 2]! << 8 | buffer[at + 3]! : short);
  return last > end ? null : { opcode: buffer[at]! & 0x0f, start, end: last };
}

function has(event: number): void {
  const times = having[event] = (having[event] ?? 0) + 1;
  if (times < clients) return;
  const atMs = wallMs();
  console.log(JSON.stringify({ n: event + 1, atMs }));
}

for (let at = 0; at < clients; at += 50) {
  await Promise.all(Array.from({ length: Math.min(50, clients - at) }, connect));
}
console.log("{}");
