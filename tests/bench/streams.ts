import { lines, median, residentKiB, start } from "./parts.ts";
import { sized } from "./size.ts";
import type { Target } from "./target.ts";

const COMMANDS = sized(200, 10);
const SUBSCRIBERS = sized(1000, 60);
const IDLE = sized(2500, 60);
const now = () => performance.timeOrigin + performance.now();

/** How long after a command's end, which its caller is told, the last of 1,000 subscribers hears of it. */
export async function fanOut(relay: Target): Promise<void> {
  const alone = await spread(relay, SUBSCRIBERS, 0);
  const beside = await spread(relay, SUBSCRIBERS - 1, 1);
  const show = ({ p50, p99 }: { p50: number; p99: number }) =>
    `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
  console.log(`event to the last of ${SUBSCRIBERS} subscribers: ${show(alone)}`);
  console.log(`the same with one of them standing still: ${show(beside)}`);
}

async function spread(relay: Target, readers: number, standing: number) {
  const args = [`${relay.port}`, relay.key, `${readers}`, `${standing}`];
  const subscribers = await start("subscribers.ts", args);
  const heard = lines<{ id: string; atMs: number }>(subscribers);
  const waits: number[] = [];
  for (let n = 0; n < COMMANDS; n++) {
    const url = `${relay.base}/api/exec/${relay.agentId}?command=uptime`;
    const answer = await fetch(url, { headers: { "x-api-key": relay.key } });
    if (!answer.ok) throw new Error(await answer.text());
    const endedMs = now();
    const { command_id } = await answer.json();
    const { value } = await heard.next();
    if (value?.id !== command_id) throw new Error("a subscriber missed an event");
    waits.push(value!.atMs - endedMs);
  }
  subscribers.child.kill("SIGKILL");
  waits.sort((a, b) => a - b);
  return { p50: median(waits), p99: waits[Math.floor(COMMANDS * 0.99)]! };
}

/** What a subscriber costs the relay while nothing happens: what the second 2,500 add to the first. */
export async function idleSubscribers({ port, key, pid }: Target): Promise<void> {
  const subscribe = () => start("subscribers.ts", [`${port}`, key, "0", `${IDLE}`]);
  const first = await subscribe();
  const before = residentKiB(pid);
  const second = await subscribe();
  const each = (residentKiB(pid) - before) / IDLE;
  console.log(`${2 * IDLE} idle subscribers: ${each.toFixed(1)} KiB each`);
  for (const { child } of [first, second]) child.kill("SIGKILL");
}
