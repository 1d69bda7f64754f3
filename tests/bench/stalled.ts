import { type Carrier, WireReader } from "../support/wire.ts";
import { lines, median, start } from "./parts.ts";

const READERS = 999;
const ROUNDS = 8;
const EVENTS_A_ROUND = 250;
/** The kernel holds up to 4 MiB of a connection's bytes, the relay 1 MiB: so many fill both. */
const FILLING_EVENTS = 2_800;
const BATCH = 40;
const PAD_BYTES = 2_000;
/** What is on its way to those who read has arrived by then. */
const REST_MS = 100;
const now = () => performance.timeOrigin + performance.now();

interface Target {
  readonly base: string;
  readonly port: number;
  readonly token: string;
  readonly key: string;
}

type Heard = AsyncGenerator<{ id: string; atMs: number }>;

/** What one subscriber of 1,000 that stands still costs the relay, and the others. */
export async function stalled(target: Target): Promise<void> {
  const args = [`${target.port}`, target.token, `${READERS}`, "0"];
  const subscribers = await start("subscribers.ts", args);
  const heard: Heard = lines(subscribers);
  await latencies(target, heard); // warm
  for (const carrier of ["sse", "ws"] as const) {
    const [alone, beside]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      const without = async () => alone.push(...await latencies(target, heard));
      const withOne = async () => {
        const reader = await standStill(target, carrier);
        beside.push(...await latencies(target, heard));
        reader.cut();
      };
      // The machine's own ups and downs meet both alike.
      for (const turn of round % 2 === 0 ? [without, withOne] : [withOne, without]) await turn();
    }
    console.log(`event to the last of 999 subscribers: ${shown(alone)}`);
    console.log(`beside one that stands still (${carrier}): ${shown(beside)}`);
    console.log(`  p99 ${(p99Of(beside) / p99Of(alone)).toFixed(2)} of without it`);
    const control = await fill(target, heard);
    const reader = await standStill(target, carrier);
    const grown = await fill(target, heard);
    console.log(
      `memory in use while ${FILLING_EVENTS} events pass: ${control.toFixed(1)} MB without it, ` +
        `${grown.toFixed(1)} MB with it; it was ended with ${await lastWord(reader, carrier)}`,
    );
  }
  subscribers.child.kill("SIGKILL");
}

const p99Of = (waits: readonly number[]) =>
  waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)]!;

const shown = (waits: readonly number[]) =>
  `p50 ${median(waits).toFixed(1)} ms, p99 ${p99Of(waits).toFixed(1)} ms`;

/** From an event's commit to the last reader, in ms, one event after the other. */
async function latencies(target: Target, heard: Heard): Promise<number[]> {
  const waits: number[] = [];
  for (let n = 0; n < EVENTS_A_ROUND; n++) {
    const committedMs = await makeEvent(target);
    waits.push(Math.max(0, await nextOf(heard) - committedMs));
  }
  return waits;
}

/** Sends as much as a reader that stands still can hold; answers the memory in use meanwhile, in MB. */
async function fill(target: Target, heard: Heard): Promise<number> {
  const used: number[] = [];
  for (let made = 0; made < FILLING_EVENTS; made += BATCH) {
    await Promise.all(Array.from({ length: BATCH }, () => makeEvent(target)));
    for (let n = 0; n < BATCH; n++) await nextOf(heard);
    if (made % (10 * BATCH) !== 0) continue;
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    used.push(await memory(target));
  }
  return median(used) / 1e6;
}

async function nextOf(heard: Heard): Promise<number> {
  const { value, done } = await heard.next();
  if (done) throw new Error("the subscribers have ended");
  return value.atMs;
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
async function makeEvent({ base, key }: Target): Promise<number> {
  const body = JSON.stringify({ id: `e${made++}`, pad: "x".repeat(PAD_BYTES) });
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const answer = await fetch(`${base}/bench/events`, { method: "POST", headers, body });
  const committedMs = now();
  if (answer.status !== 204) throw new Error(await answer.text());
  return committedMs;
}

/** In bytes, after a collection of garbage. */
async function memory({ base }: Target): Promise<number> {
  const { used } = await (await fetch(`${base}/bench/memory`)).json();
  return used;
}
