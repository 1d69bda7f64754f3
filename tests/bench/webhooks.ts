import { V8_FLAGS } from "../../core/cli/program.ts";
import { figure } from "./figures.ts";
import { lines, median, residentKiB, ROOT, start, type Started } from "./parts.ts";
import { sized } from "./size.ts";

export interface Receiver {
  readonly http: number;
  readonly https: number;
  readonly hole: number;
}

/** What that took, and how much of it the relay was on a processor. */
interface Cost {
  readonly tookMs: number;
  readonly cpuMs: number;
  /** What the relay's heap held afterwards; without garbage when deliveries were only made. */
  readonly heapBytes: number;
}

/** A relay with webhooks of its own, and what it is told to do. */
export interface Sender {
  readonly pid: number;
  /** Commits events and waits until they are numbered, their deliveries made, or delivered. */
  commit(events: number, wait: "numbered" | "made" | "delivered"): Promise<Cost>;
  end(): void;
}

/** Deliveries as `relay serve` makes them, rows before and after each attempt, to another process. */
export async function benchWebhooks(): Promise<void> {
  const { ready, child } = await start<Receiver>("hook_receiver.ts");
  await sustained("http", `http://localhost:${ready.http}/`, ready);
  await sustained("https", `https://localhost:${ready.https}/`, ready);
  await idle(ready);
  await blackHoles(ready);
  await pending(ready);
  child.kill("SIGKILL");
}

async function sustained(name: string, url: string, receiver: Receiver): Promise<void> {
  const [hooks, events, warming, rounds] = [50, sized(240, 5), 1, sized(7, 1)];
  const sender = await startSender(url, hooks, receiver, 0);
  const rates: number[] = [], costs: number[] = [];
  for (let round = -warming; round < rounds; round++) {
    const { tookMs, cpuMs } = await sender.commit(events, "delivered");
    const came = (await arrivals(receiver, hooks * events)).length;
    if (came !== hooks * events) throw new Error(`${came} of ${hooks * events} deliveries came`);
    // A relay that has just been started is still being compiled: what it sustains comes after.
    if (round < 0) continue;
    rates.push(hooks * events / tookMs * 1000);
    costs.push(cpuMs / (hooks * events));
  }
  const shown = rates.map((rate) => Math.round(rate)).join(", ");
  figure(`over ${name}`, median(rates), "deliveries/s");
  figure(`over ${name}, processor`, median(costs), "ms a delivery");
  console.log(
    `webhooks over ${name}: ${Math.round(median(rates))} deliveries/s (${shown}), ` +
      `${median(costs).toFixed(2)} ms of processor each`,
  );
  sender.end();
}

/** From before the commit of an event until its first byte is there, one at a time. */
async function idle(receiver: Receiver): Promise<void> {
  const sender = await startSender(`http://localhost:${receiver.http}/`, 1, receiver, 0);
  const lagsMs: number[] = [];
  for (let n = 0; n < sized(300, 10); n++) {
    await sender.commit(1, "delivered");
    lagsMs.push(...await arrivals(receiver, 1));
  }
  figure("idle, commit to first byte, p50", median(lagsMs), "ms");
  console.log(`webhook, idle, commit to first byte: ${show(lagsMs)}`);
  sender.end();
}

/** What ten dead endpoints cost the others among a thousand, in the time to their first attempt. */
async function blackHoles(receiver: Receiver): Promise<void> {
  const url = `http://localhost:${receiver.http}/`;
  const hooks = sized(990, 40);
  const measured: Record<number, number[]> = { 0: [], 10: [] };
  for (const holes of [0, 10]) {
    const sender = await startSender(url, hooks, receiver, holes);
    const [warming, events] = [sized(10, 1), sized(60, 2)];
    for (let event = -warming; event < events; event++) {
      await sender.commit(1, "numbered");
      const lagsMs = await arrivals(receiver, hooks);
      if (event >= 0) measured[holes]!.push(...lagsMs);
    }
    sender.end();
  }
  const ratio = p99(measured[10]!) / p99(measured[0]!);
  figure("p99 of first attempts beside 10 dead endpoints", ratio, "of without them");
  console.log(`webhooks, ${hooks} of them, to the first attempt: ${show(measured[0]!)}`);
  console.log(
    `the same beside 10 black holes: ${show(measured[10]!)}; p99 ${ratio.toFixed(2)} times`,
  );
}

/** Memory while 100,000 deliveries wait for receivers that say nothing. */
async function pending(receiver: Receiver): Promise<void> {
  const [holes, first, more] = [100, sized(200, 2), sized(800, 8)];
  const sender = await startSender("", 0, receiver, holes);
  // As many before, so that the young heap of the engine has its size.
  const few = await sender.commit(first, "made");
  const before = residentKiB(sender.pid);
  const many = await sender.commit(more, "made");
  const grown = (residentKiB(sender.pid) - before) / 1024;
  const living = (many.heapBytes - few.heapBytes) / 2 ** 20;
  figure(`${holes * (first + more)} pending deliveries, more resident`, grown, "MiB");
  console.log(
    `${holes * (first + more)} pending deliveries: ${
      living.toFixed(1)
    } MiB more in use than with ` +
      `${holes * first}, ` +
      `${grown.toFixed(0)} MiB more resident (${(before / 1024).toFixed(0)} MiB)`,
  );
  sender.end();
}

/** Starts a relay of `root` with `count` webhooks to `url` and `holes` to a receiver that never answers. */
export async function startSender(
  url: string,
  count: number,
  { hole }: Receiver,
  holes: number,
  root = ROOT,
  flags = V8_FLAGS,
): Promise<Sender> {
  const args = [url, `${count}`, `http://localhost:${hole}/`, `${holes}`];
  const script = `${root}tests/bench/hook_relay.ts`;
  const relay: Started<unknown> = await start(
    script,
    args,
    {},
    `${root}deno.json`,
    "piped",
    flags,
  );
  const answers = lines<Cost>(relay);
  const stdin = relay.child.stdin.getWriter();
  return {
    pid: relay.child.pid,
    async commit(events, wait) {
      await stdin.write(new TextEncoder().encode(`${JSON.stringify({ events, wait })}\n`));
      const { value, done } = await answers.next();
      if (done) throw new Error("the relay that sends webhooks has ended");
      return value;
    },
    end: () => relay.child.kill("SIGTERM"),
  };
}

/** How long each of so many deliveries was on its way, in ms, once all are there. */
export async function arrivals({ http }: Receiver, n: number): Promise<number[]> {
  return await (await fetch(`http://127.0.0.1:${http}/until?n=${n}`)).json();
}

const at = (numbers: readonly number[], share: number) =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length * share)]!;
const p99 = (numbers: readonly number[]) => at(numbers, 0.99);
const show = (lagsMs: readonly number[]) =>
  `p50 ${median(lagsMs).toFixed(1)} ms, p99 ${p99(lagsMs).toFixed(1)} ms`;
