import { figure } from "../figures.ts";
import { signUp } from "../client.ts";
import { endAll, get, measure, type Measured, median, mustAll, start } from "../parts.ts";
import { CONNECTIONS, SECONDS, sized } from "../size.ts";

const ROUNDS = sized(Number(Deno.env.get("BENCH_ROUNDS") ?? 9), 1);
/** Rows become leaves within a second after their requests: then all that they cost has been paid. */
const SETTLE_MS = 1_500;
/** What the kernel counts CPU time in. */
const TICK_MS = 10;

interface Side {
  readonly port: number;
  readonly pid: number;
  readonly request: string;
}

interface Round extends Measured {
  /** Of the relay, for each request, in µs. */
  readonly cpu: number;
}

/**
 * What it costs audited reads that their rows become leaves of a tree: the same load by turns on a relay
 * and on one that leaves its log unsequenced.
 */
export async function benchSequencing(): Promise<void> {
  try {
    const plain = await side(["2000000000", "0", "unsequenced"]);
    const proving = await side([]);
    for (const connections of CONNECTIONS) {
      for (const one of [plain, proving]) await run(one, connections);
      const pairs: [Round, Round][] = [];
      for (let round = 0; round < ROUNDS; round++) {
        // Whoever comes first has the colder machine.
        if (round % 2 === 0) {
          const first = await run(plain, connections);
          pairs.push([first, await run(proving, connections)]);
        } else {
          const first = await run(proving, connections);
          pairs.push([await run(plain, connections), first]);
        }
      }
      const mid = (pick: (pair: [Round, Round]) => number) => median(pairs.map(pick));
      const share = (mid(([a, b]) => b.cpu / a.cpu) - 1) * 100;
      const ratio = mid(([a, b]) => b.perSecond / a.perSecond);
      figure(`audited read with sequencing, ${connections} connections`, ratio, "of without");
      console.log(
        `audited read with sequencing, ${connections} connections: without ${
          mid(([a]) => a.perSecond).toFixed(0)
        }/s  with ${mid(([, b]) => b.perSecond).toFixed(0)}/s  ratio ${ratio.toFixed(3)}  CPU ${
          mid(([a]) => a.cpu).toFixed(1)
        } → ${mid(([, b]) => b.cpu).toFixed(1)} µs (${share.toFixed(1)} % more)`,
      );
    }
  } finally {
    endAll();
  }
}

async function side(args: readonly string[]): Promise<Side> {
  const { ready: { port }, child: { pid } } = await start<{ port: number }>("relay.ts", args);
  const base = `http://127.0.0.1:${port}`;
  const { key } = await signUp(base, 0);
  const agent = await start<{ ids: string[] }>("echo_agent.ts", [base, key]);
  const request = get(`/api/v1/agents/${agent.ready.ids[0]}`, { "x-api-key": key });
  return { port, pid, request };
}

async function run({ port, pid, request }: Side, connections: number): Promise<Round> {
  const before = cpuMsOf(pid);
  const measured = await measure(port, connections, SECONDS, [request]);
  mustAll(measured, "200");
  await new Promise((done) => setTimeout(done, SETTLE_MS));
  return { ...measured, cpu: (cpuMsOf(pid) - before) * 1000 / measured.answered };
}

/** CPU time that a process has had, in ms. */
function cpuMsOf(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
