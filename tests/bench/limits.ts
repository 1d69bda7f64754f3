import { figure } from "./figures.ts";
import { signUp } from "./client.ts";
import { get, measure, start } from "./parts.ts";
import { report, rounds } from "./rounds.ts";
import { CONNECTIONS, sized } from "./size.ts";

/** A whole set of rounds must fit into one window: the next one would admit a request. */
const WINDOW_MS = 60_000;
const NEEDS_MS = sized(40_000, 8_000);

interface Relay {
  readonly port: number;
  readonly kv: string;
}

/** What it costs to be refused: as much as a bare route or a little more, and no commit. */
export async function refusals(): Promise<void> {
  const { ready: bare } = await start<{ port: number }>("bare_http.ts");
  const barePath = get("/api/v1/agents/agt_1");
  const { ready: relay } = await start<Relay>("relay.ts", ["1"]);
  const base = `http://127.0.0.1:${relay.port}`;
  const { key } = await signUp(base, 0);
  const request = get("/api/v1/agents", { "x-api-key": key });
  const kv = await Deno.openKv(relay.kv);
  for (const connections of CONNECTIONS) {
    await untilRoom();
    await measure(relay.port, 1, 1, [request]);
    const before = await restingRows(kv);
    const pair = await rounds(connections, [bare.port, [barePath]], [relay.port, [request]]);
    report(`refused (429), ${connections} connections`, pair, { expected: "429" });
    const written = [...await rows(kv)].filter((row) => !before.has(row));
    console.log(`  ${pair.answered} requests refused, ${written.length} rows were written`);
    if (written.length > 0) throw new Error(`refusals wrote ${written.join(", ")}`);
  }
  kv.close();
}

/** Waits for a window that has room for all rounds. */
async function untilRoom(): Promise<void> {
  const leftMs = WINDOW_MS - Date.now() % WINDOW_MS;
  if (leftMs < NEEDS_MS) await new Promise((resolve) => setTimeout(resolve, leftMs));
}

/** What counts refusals too, and is written now and then, however many there are. */
const FIGURES = ["api_key_usage@", "activity@"];

/** The same, once what came before has come to rest, its checkpoint included. */
async function restingRows(kv: Deno.Kv): Promise<Set<string>> {
  for (let before = await rows(kv);;) {
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    const after = await rows(kv);
    if (after.isSubsetOf(before)) return after;
    before = after;
  }
}
const REST_MS = 3_000;

/** Everything that is stored but figures. */
async function rows(kv: Deno.Kv): Promise<Set<string>> {
  const all = new Set<string>();
  for await (const { key, versionstamp } of kv.list({ prefix: [] })) {
    if (!FIGURES.some((name) => String(key[2]).startsWith(name))) {
      all.add(`${key.join("/")} ${versionstamp}`);
    }
  }
  return all;
}

/** What a relay remembers of a million keys that never were: nothing. */
export async function unknownKeys(): Promise<void> {
  for (const [name, perMinute, addresses] of VARIANTS) {
    const { ready } = await start<Memory>("unknown_keys.ts", [perMinute, addresses, `${TRIES}`]);
    const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
    const statuses = JSON.stringify(ready.statuses);
    console.log(
      `${ready.tries} unknown keys, ${name}: heap ${ready.heap.map(mib).join(", ")}; ` +
        `resident ${ready.resident.map(mib).join(", ")}; ${statuses}`,
    );
    const grown = ready.heap.at(-1)! - ready.heap[1]!;
    figure(`heap after ${ready.tries} unknown keys, ${name}`, ready.heap.at(-1)! / 2 ** 20, "MiB");
    if (grown > GROWTH_BYTES_MAX) throw new Error(`the heap grew by ${mib(grown)}`);
  }
}

interface Memory {
  readonly tries: number;
  /** Bytes before the first, and after each quarter of the tries. */
  readonly heap: readonly number[];
  readonly resident: readonly number[];
  readonly statuses: Readonly<Record<string, number>>;
}

const TRIES = sized(1_000_000, 2_000);
const GROWTH_BYTES_MAX = 8 * 2 ** 20;
const VARIANTS: readonly (readonly [name: string, perMinute: string, addresses: string])[] = [
  ["no limit by address", "null", "1"],
  ["600 a minute from one address", "600", "1"],
  ["600 a minute from each of 100,000 addresses", "600", "100000"],
];
