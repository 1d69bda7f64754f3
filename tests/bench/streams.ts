import { lines, median, residentKiB, start } from "./parts.ts";

interface Relay {
  readonly base: string;
  readonly port: number;
  readonly pid: number;
  readonly token: string;
  readonly key: string;
  readonly agentId: string;
}

const COMMANDS = 200;
const now = () => performance.timeOrigin + performance.now();

/** How long after a command's end, which its caller is told, the last of 1,000 subscribers hears of it. */
export async function fanOut(relay: Relay): Promise<void> {
  const alone = await spread(relay, 1000, 0);
  const beside = await spread(relay, 999, 1);
  const show = ({ p50, p99 }: { p50: number; p99: number }) =>
    `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
  console.log(`event to the last of 1000 subscribers: ${show(alone)}`);
  console.log(`the same with one of them standing still: ${show(beside)}`);
}

async function spread(relay: Relay, readers: number, standing: number) {
  const args = [`${relay.port}`, relay.token, `${readers}`, `${standing}`];
  const subscribers = await start("subscribers.ts", args);
  const heard = lines<{ id: string; atMs: number }>(subscribers);
  const waits: number[] = [];
  for (let n = 0; n < COMMANDS; n++) {
    const url = `${relay.base}/api/exec/${relay.agentId}?command=uptime`;
    const answer = await fetch(url, { headers: { "x-api-key": relay.key } });
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
export async function idleSubscribers({ port, token, pid }: Relay): Promise<void> {
  const subscribe = () => start("subscribers.ts", [`${port}`, token, "0", "2500"]);
  const first = await subscribe();
  const before = residentKiB(pid);
  const second = await subscribe();
  const each = (residentKiB(pid) - before) / 2500;
  console.log(`5000 idle subscribers: ${each.toFixed(1)} KiB each`);
  for (const { child } of [first, second]) child.kill("SIGKILL");
}
