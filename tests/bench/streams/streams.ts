import { figure } from "../figures.ts";
import { lines, median, residentKiB, start } from "../parts.ts";
import { bareFanOut, BATCHES, openReaders, PLAIN, publisherOf, type Readers } from "./burst.ts";
import { ROUNDS, sized } from "../size.ts";
import type { Target } from "../target.ts";
import { wallMs } from "../wall.ts";

const COMMANDS = sized(200, 10);
const SUBSCRIBERS = sized(1000, 60);
const IDLE = sized(2500, 60);
const BURST = sized(400, 20);
const SINGLE = sized(100, 5);

/** How long after a command was asked for the last of 1,000 subscribers hears of its end. */
export async function fanOut(relay: Target): Promise<void> {
  const alone = await spread(relay, SUBSCRIBERS, 0);
  const beside = await spread(relay, SUBSCRIBERS - 1, 1);
  figure(`command to the last of ${SUBSCRIBERS} streams, p50`, alone.p50, "ms");
  console.log(`command to the last of ${SUBSCRIBERS} subscribers: ${show(alone)}`);
  console.log(`the same with one of them standing still: ${show(beside)}`);
}

async function spread(relay: Target, readers: number, standing: number): Promise<Waits> {
  const args = [`${relay.port}`, relay.key, `${readers}`, `${standing}`];
  const subscribers = await start("streams/subscribers.ts", args);
  const heard = lines<{ id: string; atMs: number }>(subscribers);
  const waits: number[] = [];
  for (let n = 0; n < COMMANDS; n++) {
    const url = `${relay.base}/api/exec/${relay.agentId}?command=uptime`;
    const askedMs = wallMs();
    const answer = await fetch(url, { headers: { "x-api-key": relay.key } });
    if (!answer.ok) throw new Error(await answer.text());
    const { command_id } = await answer.json();
    const { value } = await heard.next();
    if (value?.id !== command_id) throw new Error("a subscriber missed an event");
    waits.push(value!.atMs - askedMs);
  }
  subscribers.child.kill("SIGKILL");
  return waitsOf(waits);
}

/** What a subscriber costs the relay while nothing happens: what the second 2,500 add to the first. */
export async function idleSubscribers({ port, key, pid }: Target): Promise<void> {
  const subscribe = () => start("streams/subscribers.ts", [`${port}`, key, "0", `${IDLE}`]);
  const first = await subscribe();
  const before = residentKiB(pid);
  const second = await subscribe();
  const each = (residentKiB(pid) - before) / IDLE;
  console.log(`${2 * IDLE} idle subscribers: ${each.toFixed(1)} KiB each`);
  for (const { child } of [first, second]) child.kill("SIGKILL");
}

/** How many messages a second 1,000 WebSockets get of a burst of durable events, beside a server that only sends. */
export async function bursts(relay: Target): Promise<void> {
  for (const protocol of [PLAIN, BATCHES]) {
    const bare = await openReaders(await bareFanOut(protocol === BATCHES), SUBSCRIBERS, protocol);
    const ours = await openReaders(publisherOf(relay), SUBSCRIBERS, protocol);
    const rates: { bare: number; ours: number }[] = [];
    for (let round = -1; round < ROUNDS; round++) {
      const rate = { bare: await bare.burst(BURST), ours: await ours.burst(BURST) };
      if (round >= 0) rates.push(rate); // the first one warms
    }
    const name = `burst to ${SUBSCRIBERS} sockets, ${protocol}`;
    figure(name, median(rates.map(({ ours }) => ours)), "messages/s");
    console.log(
      `${BURST} events to ${SUBSCRIBERS} sockets, ${protocol}: ` +
        `bare ${median(rates.map(({ bare }) => bare)).toFixed(0)} messages/s, ` +
        `ours ${median(rates.map(({ ours }) => ours)).toFixed(0)}, ` +
        `ratio ${median(rates.map(({ bare, ours }) => ours / bare)).toFixed(2)}`,
    );
    const [bareOne, one] = [await singles(bare), await singles(ours)];
    figure(`event to the last of ${SUBSCRIBERS} sockets, ${protocol}, p50`, one.p50, "ms");
    console.log(`one event to the last: bare ${show(bareOne)}, ours ${show(one)}`);
    for (const readers of [bare, ours]) readers.end();
  }
}

async function singles(readers: Readers): Promise<Waits> {
  const waits: number[] = [];
  for (let n = 0; n < SINGLE; n++) waits.push(await readers.single());
  return waitsOf(waits);
}

interface Waits {
  readonly p50: number;
  readonly p99: number;
}

function waitsOf(ms: readonly number[]): Waits {
  const sorted = ms.toSorted((a, b) => a - b);
  return { p50: median(sorted), p99: sorted[Math.floor(sorted.length * 0.99)]! };
}

const show = ({ p50, p99 }: Waits) => `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
