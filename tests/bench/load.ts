/**
 * A load generator in its own process: `connections` keep-alive connections, one request under way on
 * each, over raw TCP so that it costs the machine little. Prints one JSON line.
 */
interface Load {
  /** Each connection goes to one of them, by turns. */
  readonly ports: readonly number[];
  readonly connections: number;
  readonly seconds: number;
  /** Whole requests, taken in turn by the connections. */
  readonly requests: readonly string[];
}

const load: Load = JSON.parse(await new Response(Deno.stdin.readable).text());
const HEAD_END = [13, 10, 13, 10];
const decoder = new TextDecoder();
const latenciesMs: number[] = [];
const statuses = new Map<number, number>();
let stop = false;

function indexOfHeadEnd(bytes: Uint8Array, length: number): number {
  for (let at = 3; at < length; at++) {
    if (
      bytes[at] === 10 && bytes[at - 1] === HEAD_END[2] && bytes[at - 2] === 10 &&
      bytes[at - 3] === 13
    ) return at + 1;
  }
  return -1;
}

async function connection(first: number): Promise<void> {
  const port = load.ports[first % load.ports.length]!;
  const socket = await Deno.connect({ hostname: "127.0.0.1", port });
  socket.setNoDelay(true);
  const encoded = load.requests.map((request) => new TextEncoder().encode(request));
  const buffer = new Uint8Array(64 * 1024);
  for (let turn = first; !stop; turn += load.connections) {
    const startedMs = performance.now();
    await socket.write(encoded[turn % encoded.length]!);
    let length = 0, end = -1;
    while (end === -1 || length < end) {
      const read = await socket.read(buffer.subarray(length));
      if (read === null) throw new Error("the server closed a connection");
      length += read;
      if (end !== -1) continue;
      const head = indexOfHeadEnd(buffer, length);
      if (head === -1) continue;
      const text = decoder.decode(buffer.subarray(0, head));
      const body = /content-length: (\d+)/i.exec(text);
      end = head + Number(body?.[1] ?? 0);
      const status = Number(text.slice(9, 12));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    latenciesMs.push(performance.now() - startedMs);
  }
  socket.close();
}

const startedMs = performance.now();
setTimeout(() => stop = true, load.seconds * 1000);
await Promise.all(Array.from({ length: load.connections }, (_, n) => connection(n)));
const tookSeconds = (performance.now() - startedMs) / 1000;
latenciesMs.sort((a, b) => a - b);
const at = (share: number) => latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0;
console.log(JSON.stringify({
  answered: latenciesMs.length,
  perSecond: latenciesMs.length / tookSeconds,
  p50Ms: at(0.5),
  p99Ms: at(0.99),
  statuses: Object.fromEntries(statuses),
}));
