import { wallMs } from "../wall.ts";

/**
 * Clients of `/api/events` over raw TCP, by a key, whose limit of connections is the relay's to set: a
 * person has few streams. Arguments: port, key, how many read, how many stand still, and
 * a query if there is one.
 * Prints `{}` once all have had their hello, then, for each command that every reader heard of, its id
 * and the instant at which the last one did, in ms since the epoch.
 */
const [port, key, reading, standing, query = ""] = Deno.args as [
  string,
  string,
  string,
  string,
  string?,
];
const readers = Number(reading);
const decoder = new TextDecoder();
const still: Deno.TcpConn[] = [];
const heard = new Map<string, number>();

async function connect(reads: boolean): Promise<void> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  const head = `GET /api/events${query} HTTP/1.1\r\nHost: 127.0.0.1\r\n` +
    `Authorization: Bearer ${key}\r\n\r\n`;
  await socket.write(new TextEncoder().encode(head));
  const buffer = new Uint8Array(16 * 1024);
  let text = "";
  while (!text.includes("event: hello")) {
    const n = await socket.read(buffer);
    if (n === null) throw new Error(`a stream ended before its hello: ${text}`);
    text += decoder.decode(buffer.subarray(0, n));
    if (!text.startsWith("HTTP/1.1 200")) throw new Error(`a stream was refused: ${text}`);
  }
  if (reads) void follow(socket, buffer);
  else still.push(socket);
}

async function follow(socket: Deno.TcpConn, buffer: Uint8Array<ArrayBuffer>): Promise<void> {
  let text = "";
  for (let n = await socket.read(buffer); n !== null; n = await socket.read(buffer)) {
    text += decoder.decode(buffer.subarray(0, n));
    const whole = text.lastIndexOf("\n");
    for (const [, id] of text.slice(0, whole).matchAll(/"command_id":"(\w+)"/g)) {
      const times = (heard.get(id!) ?? 0) + 1;
      heard.set(id!, times);
      if (times === readers) console.log(JSON.stringify({ id, atMs: wallMs() }));
    }
    text = text.slice(whole + 1);
  }
  throw new Error("a stream has ended");
}

const all = [...Array(readers).fill(true), ...Array(Number(standing)).fill(false)];
for (let at = 0; at < all.length; at += 50) await Promise.all(all.slice(at, at + 50).map(connect));
console.log("{}");
// Nothing is awaited for those that stand still: this keeps them and the process.
setInterval(() => still.length, 60_000);
