import { figure } from "../figures.ts";
import { type Carrier, WireReader } from "../../support/wire.ts";
import { lines, median, start } from "../parts.ts";
import { sized } from "../size.ts";
import type { Target } from "../target.ts";
import { wallMs } from "../wall.ts";

const READERS = sized(999, 60);
const ROUNDS = sized(4, 1);
const EVENTS_A_ROUND = sized(40, 5);
/** Before each event that all hear come so many that only the one that stands still would hear. */
const OTHERS_BETWEEN = 12;
const PAD_BYTES = 12_000;
/** The kernel holds up to 4 MiB of a connection's bytes, the relay 1 MiB: so many fill both. */
const FILLING_EVENTS = 500;
const BATCH = 20;
/** How often memory is looked at while they pass, in batches. */
const LOOK_BATCHES = 2;

type Heard = AsyncGenerator<{ id: string; atMs: number }>;

/** What one subscriber of 1,000 that stands still costs the relay, and the others. */
export async function stalled(target: Target): Promise<void> {
  const args = [`${target.port}`, target.key, `${READERS}`, "0", "?types=agent_created"];
  const subscribers = await start("streams/subscribers.ts", args);
  const heard: Heard = lines(subscribers);
  console.log(`${READERS} subscribers are there`);
  await latencies(target, heard); // warm
  for (const carrier of ["sse", "ws"] as const) {
    await compareWaits(target, heard, carrier);
    const control = await fill(target);
    const reader = await standStill(target, carrier);
    const grown = await fill(target);
    const mostMore = Math.max(...grown.map((used, at) => used - control[at]!));
    console.log(
      `memory in use while ${FILLING_EVENTS} events of ${PAD_BYTES} bytes pass: at most ` +
        `${Math.max(...control).toFixed(1)} MB without it, ${Math.max(...grown).toFixed(1)} MB ` +
        `with it, at no moment more than ${mostMore.toFixed(1)} MB above; ` +
        `it was ended with ${await lastWord(reader, carrier)}`,
    );
  }
  subscribers.child.kill("SIGKILL");
}

/** What the others wait while one stands still, fills up and is ended, and what without it. */
async function compareWaits(target: Target, heard: Heard, carrier: Carrier): Promise<void> {
  const [alone, beside, ratios]: [number[], number[], number[]] = [[], [], []];
  const without = () => latencies(target, heard);
  const withOne = async () => {
    const reader = await standStill(target, carrier);
    const waits = await latencies(target, heard);
    reader.cut();
    return waits;
  };
  for (let round = 0; round < ROUNDS; round++) {
    // The machine's own ups and downs meet both alike.
    const first = round % 2 === 0 ? await without() : await withOne();
    const second = round % 2 === 0 ? await withOne() : await without();
    const [free, held] = round % 2 === 0 ? [first, second] : [second, first];
    alone.push(...free);
    beside.push(...held);
    ratios.push(p99Of(held) / p99Of(free));
    console.log(`  round ${round + 1} of ${ROUNDS} (${carrier}): p99 ${ratios.at(-1)!.toFixed(2)}`);
  }
  console.log(`event to the last of ${READERS} subscribers: ${shown(alone)}`);
  console.log(`beside one that stands still (${carrier}): ${shown(beside)}`);
  figure(`p99 beside one that stands still (${carrier})`, median(ratios), "of without it");
  console.log(
    `  p99 ${(p99Of(beside) / p99Of(alone)).toFixed(2)} of without it, ` +
      `${median(ratios).toFixed(2)} in the median round`,
  );
}

const p99Of = (waits: readonly number[]) =>
  waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)]!;

const shown = (waits: readonly number[]) =>
  `p50 ${median(waits).toFixed(1)} ms, p99 ${p99Of(waits).toFixed(1)} ms`;

/** From an event's commit to the last reader, in ms, one event after the other. */
async function latencies(target: Target, heard: Heard): Promise<number[]> {
  const waits: number[] = [];
  for (let n = 0; n < EVENTS_A_ROUND; n++) {
    await makeForOne(target, OTHERS_BETWEEN);
    const committedMs = await makeEvent(target, "agent_created", "");
    const { value, done } = await heard.next();
    if (done) throw new Error("the subscribers have ended");
    waits.push(Math.max(0, value.atMs - committedMs));
  }
  return waits;
}

/** Sends as much as a reader that stands still can hold; answers the memory in use meanwhile, in MB. */
async function fill(target: Target): Promise<number[]> {
  const used: number[] = [];
  for (let batch = 0; batch < FILLING_EVENTS / BATCH; batch++) {
    await makeForOne(target, BATCH);
    if (batch % LOOK_BATCHES === 0) used.push(await memory(target) / 1e6);
  }
  return used;
}

/** Events that only a subscriber without a filter hears. */
async function makeForOne(target: Target, count: number): Promise<void> {
  const pad = "x".repeat(PAD_BYTES);
  await Promise.all(Array.from({ length: count }, () => makeEvent(target, "agent_deleted", pad)));
}

/** A subscriber that has had its hello and reads no more. */
async function standStill({ port, key }: Target, carrier: Carrier): Promise<WireReader> {
  const reader = await WireReader.open(port, carrier, key, null);
  for (;;) {
    const messages = await reader.read(1_000);
    if (messages?.some(({ kind }) => kind === "hello")) return reader;
  }
}

/** What it finds when it reads on at last. */
async function lastWord(reader: WireReader, carrier: Carrier): Promise<string> {
  for (;;) {
    const messages = await reader.read(16_000);
    if (messages === null) return "nothing";
    for (const { kind, data } of messages) {
      if (kind === "end") return `${data.code} ${data.name} (${carrier})`;
      if (kind === "close") return `${data} (${carrier})`;
    }
  }
}

let made = 0;

/** Answers when it was committed. */
async function makeEvent({ base, key }: Target, type: string, pad: string): Promise<number> {
  const body = JSON.stringify({ type, id: `e${made++}`, pad });
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const answer = await fetch(`${base}/bench/events`, { method: "POST", headers, body });
  const committedMs = wallMs();
  if (answer.status !== 204) throw new Error(await answer.text());
  return committedMs;
}

/** In bytes, after a collection of garbage. */
async function memory({ base }: Target): Promise<number> {
  const answer = await fetch(`${base}/bench/memory`);
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).used;
}
