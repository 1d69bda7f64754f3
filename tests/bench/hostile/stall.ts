import { figure } from "../figures.ts";
import { signUp } from "../client.ts";
import { lines, median, start } from "../parts.ts";
import { ROUNDS, SECONDS } from "../size.ts";

/** Requests a minute of one address without a credential: the default. */
const PUBLIC_PER_MINUTE = "600";
const UNLIMITED = "2000000000";
const AT_ONCE = 8;
const PROBE_EVERY_MS = 20;
const MIB = 1024 * 1024;
const GIT = "/api/v1/gitops/webhook";
const FORGED = { "x-github-event": "push", "x-hub-signature-256": `sha256=${"0".repeat(64)}` };

interface Attack {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** How long others wait while one address, or one key, sends the dearest bodies that it may. */
export async function stall(): Promise<void> {
  const relay = await start<{ port: number }>("relay.ts", [
    UNLIMITED,
    "0",
    "",
    PUBLIC_PER_MINUTE,
  ]);
  const base = `http://127.0.0.1:${relay.ready.port}`;
  const { key } = await signUp(base, 0);
  const attacks: readonly Attack[] = [
    { name: "2 MiB, unsigned", path: GIT, bytes: 2 * MIB, headers: {} },
    { name: "2 MiB, a forged signature", path: GIT, bytes: 2 * MIB, headers: FORGED },
    { name: "16 KiB, unsigned", path: GIT, bytes: 16 * 1024, headers: {} },
    { name: "1 MiB, with a key", path: "/mcp", bytes: MIB, headers: { "x-api-key": key } },
  ];
  await probe(base); // warm
  for (const attack of attacks) await compare(base, attack);
}

async function compare(base: string, { name, path, bytes, headers }: Attack): Promise<void> {
  const idle: number[] = [], under: number[] = [], ratios: number[] = [];
  const answers: Record<string, number> = {};
  for (let round = 0; round < ROUNDS; round++) {
    const calm = await probe(base);
    const args = [base + path, `${bytes}`, `${AT_ONCE}`, JSON.stringify(headers)];
    const attacker = await start("hostile/attack.ts", args);
    const busy = await probe(base);
    attacker.child.kill("SIGTERM");
    const { value } = await lines<Record<string, number>>(attacker).next();
    if (value === undefined) throw new Error("the attacker has ended");
    for (const [status, times] of Object.entries<number>(value)) {
      answers[status] = (answers[status] ?? 0) + times;
    }
    idle.push(calm);
    under.push(busy);
    ratios.push(busy / calm);
  }
  figure(`/healthz beside bodies of ${name}`, median(ratios), "times idle");
  console.log(
    `${name.padEnd(26)} /healthz median idle ${median(idle).toFixed(2)} ms, under attack ` +
      `${median(under).toFixed(2)} ms, ratio ${median(ratios).toFixed(2)} in the median round; ` +
      `answers ${JSON.stringify(answers)}`,
  );
}

/** The median of how long `/healthz` takes over one round, asked by the clock: a stall holds up many of them. */
async function probe(base: string): Promise<number> {
  const asked: Promise<number>[] = [];
  const endMs = performance.now() + SECONDS * 1000;
  while (performance.now() < endMs) {
    asked.push(ask(base));
    await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
  }
  return median(await Promise.all(asked));
}

async function ask(base: string): Promise<number> {
  const startedMs = performance.now();
  const answer = await fetch(`${base}/healthz`);
  if (!answer.ok) throw new Error(`/healthz answered ${answer.status}`);
  await answer.body?.cancel();
  return performance.now() - startedMs;
}
