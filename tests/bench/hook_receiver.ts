import { wallMs } from "./wall.ts";

/**
 * A receiver in a process of its own: answers every delivery, and tells how long each was on its way.
 * The black hole takes connections and says nothing.
 */
const fixture = (name: string) =>
  Deno.readTextFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));
let count = 0;
let lagsMs: number[] = [];
let waiting: { n: number; resolve: () => void } | null = null;

async function take(request: Request): Promise<Response> {
  const atMs = wallMs();
  const body = await request.text();
  lagsMs.push(atMs - Number(/"name":"([\d.]+)"/.exec(body)![1]));
  count++;
  if (waiting !== null && count >= waiting.n) waiting.resolve();
  return new Response(null, { status: 204 });
}

/** Waits until so many have come since the last time, and gives how long each took. */
async function until(n: number): Promise<Response> {
  if (count < n) await new Promise<void>((resolve) => waiting = { n, resolve });
  const answer = Response.json(lagsMs);
  count = 0;
  lagsMs = [];
  waiting = null;
  return answer;
}

const quiet = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
const http = Deno.serve(quiet, (request) => {
  const { pathname, searchParams } = new URL(request.url);
  return pathname === "/until" ? until(Number(searchParams.get("n"))) : take(request);
});
const tls = { cert: fixture("localhost.pem"), key: fixture("localhost.key") };
const https = Deno.serve({ ...quiet, ...tls }, take);
const hole = Deno.listen({ hostname: "127.0.0.1", port: 0 });
const portOf = ({ addr }: { addr: Deno.Addr }) => (addr as Deno.NetAddr).port;
console.log(JSON.stringify({ http: portOf(http), https: portOf(https), hole: portOf(hole) }));
const swallowed: Deno.Conn[] = [];
for await (const conn of hole) swallowed.push(conn);
