import { systemClock, systemEntropy } from "../../core/ports/system.ts";
import { writeBackup } from "../../core/host/backup/backup.ts";
import { isThere } from "../../kv/maintenance/disk.ts";
import { endAll, start } from "../bench/parts.ts";
import { EVENT_GAP_MS, fillWebhooks, type Owner, RARE_ACTOR, signIn, signUp } from "./fills.ts";
import { Receiver } from "./hooks.ts";
import { GrownRelay, SECRET } from "./relay.ts";
import { ROWS, WANTED_BY_ALL } from "./rows.ts";
import { type Cost, ONCE, QUICK, sampled, WHOLE } from "./sampled.ts";

/** What the operations on a store of one size took. */
export interface Measured {
  readonly row: string;
  readonly size: number;
  readonly storeMib: number;
  readonly filledInMs: number;
  readonly costs: Readonly<Record<string, Cost>>;
}

/** What is noted beside a filled store, so that it can be measured again. */
interface Filled extends Owner {
  readonly eventIds: readonly string[];
  readonly receiverPort: number;
  readonly filledInMs: number;
}

/** In every row one webhook wants this type. */
const WANTED_BY_ONE = "agent_created";
const PAGE = "limit=50";

/** Fills a store in `folder`, unless it is there, and measures every operation on it. */
export async function measureSize(
  row: string,
  size: number,
  folder: string,
  quick: boolean,
  tell: (progress: string) => void = () => {},
): Promise<Measured> {
  const kv = `${folder}/${row}-${size}.kv`;
  const notes = `${kv}.json`;
  const filled: Filled | null = isThere(notes) ? JSON.parse(Deno.readTextFileSync(notes)) : null;
  const receiver = new Receiver(filled?.receiverPort ?? 0);
  try {
    const owner = filled ?? await fill(row, size, kv, receiver);
    Deno.writeTextFileSync(notes, JSON.stringify(owner));
    const costs = await operations(row, size, kv, owner, receiver, quick, tell);
    const storeMib = Deno.statSync(kv).size / 2 ** 20;
    return { row, size, storeMib, filledInMs: owner.filledInMs, costs };
  } finally {
    endAll();
    await receiver.stop();
  }
}

async function fill(row: string, size: number, kv: string, receiver: Receiver): Promise<Filled> {
  const from = performance.now();
  const { lastsMs = () => 0, fill: fillRow } = ROWS[row]!;
  // The organization is older than what it gets.
  const earlier = await GrownRelay.start(kv, lastsMs(size));
  const founded = await signUp(earlier);
  // A relay that has just started remembers no end of a log.
  await earlier.stop();
  const relay = await GrownRelay.start(kv);
  const ids = await fillRow(relay, founded, size, receiver.url);
  const owner = await signIn(relay, founded);
  await fillWebhooks(relay, owner, receiver.url, [WANTED_BY_ONE], 1);
  const { events } = await relay.call(owner.token, "GET", "/api/audit?limit=1");
  await relay.stop();
  const eventIds = ids ?? [events[0].event_id];
  return {
    ...{ ...owner, eventIds, receiverPort: receiver.port },
    filledInMs: performance.now() - from,
  };
}

async function operations(
  row: string,
  size: number,
  kv: string,
  owner: Filled,
  receiver: Receiver,
  quick: boolean,
  tell: (progress: string) => void,
): Promise<Record<string, Cost>> {
  const repeats = quick ? QUICK : WHOLE;
  const costs: Record<string, Cost> = {};
  const note = (name: string, cost: Cost) => {
    costs[name] = cost;
    tell(`${row} ${size}: ${name}: ${cost.ms.toFixed(2)} ms`);
  };
  let relay: GrownRelay | null = null;
  const started = await sampled(
    { ...repeats, most: Math.min(8, repeats.most) },
    async () => relay = await GrownRelay.start(kv),
    async () => await relay?.stop(),
  );
  note("start", started);
  const grown: GrownRelay = relay!;
  const housekeep = () => grown.running.housekeep();
  note("periodic tasks, first round", await sampled(ONCE, housekeep));
  note("periodic tasks", await sampled(repeats, housekeep));
  const server = grown.listen();
  const measure = async (name: string, run: (n: number) => Promise<unknown>) => {
    note(name, await sampled(repeats, run));
  };
  const get = (path: string) => grown.call(owner.key, "GET", path);
  const { list, middle } = ROWS[row]!;
  await measure("list, first page", () => get(`${list}?${PAGE}`));
  await measure("list, page in the middle", () => get(`${list}?${PAGE}&${middle(size)}`));

  const url = `http://127.0.0.1:${server.addr.port}`;
  const { ready } = await start<{ ids: string[] }>("echo_agent.ts", [url, owner.key]);
  await measure("exec", () => get(`/api/exec/${ready.ids[0]}?command=uptime`));
  await measure("audit query", () => get(`/api/audit?${PAGE}`));
  if (row === "events") {
    await measure("audit query, rare actor", () => get(`/api/audit?${PAGE}&actor=${RARE_ACTOR}`));
    const endMs = Date.now() - size * EVENT_GAP_MS / 2;
    const iso = (ms: number) => new Date(ms).toISOString();
    const minute = `start_time=${iso(endMs - 60_000)}&end_time=${iso(endMs)}`;
    await measure("audit query, one minute", () => get(`/api/audit?${PAGE}&${minute}`));
  }
  const { eventIds: ids } = owner;
  await measure(
    "proof of a row",
    (n) => get(`/api/audit/proof/${ids[Math.abs(n) * 7 % ids.length]}`),
  );
  await measure("event to one webhook", () => receiver.fanOut(grown, owner, WANTED_BY_ONE, 1));
  if (row === "webhooks") {
    const all = () => receiver.fanOut(grown, owner, WANTED_BY_ALL, size - 1);
    await measure("event to all others", all);
  }
  note("backup", await sampled(ONCE, async () => backup(kv)));
  await server.shutdown();
  await grown.stop();
  return costs;
}

function backup(kv: string): void {
  const folder = `${kv}.backup`;
  const secrets = { secret: SECRET, olderSecrets: [] };
  writeBackup({ folder, kv, secrets }, { clock: systemClock, entropy: systemEntropy });
  Deno.removeSync(folder, { recursive: true });
}

if (import.meta.main) {
  const [row, size, folder, pace] = Deno.args as [string, string, string, string];
  const quick = pace === "quick";
  const measured = await measureSize(
    row,
    Number(size),
    folder,
    quick,
    (text) => console.error(text),
  );
  console.log(JSON.stringify(measured));
  Deno.exit();
}
