import { benchAudit } from "./log/audit.ts";
import { benchEvidence } from "./log/evidence.ts";
import { agentMemory, betterAuth, exec, manyReads, mcpBesideOthers, mcpReads } from "./reads.ts";
import { benchShield } from "./shield.ts";
import { stall } from "./hostile/stall.ts";
import { benchStart } from "./start.ts";
import { stalled } from "./streams/stalled.ts";
import { bursts, fanOut, idleSubscribers } from "./streams/streams.ts";
import { benchSequencing } from "./log/sequencing.ts";
import { wrongPasswords } from "./hostile/logins.ts";
import { benchInstances } from "./instances.ts";
import { refusals, unknownKeys } from "./limits.ts";
import { measuring, mustHaveGoals, tabulate } from "./figures.ts";
import { endAll } from "./parts.ts";
import { realAgent } from "./real_agent.ts";
import { benchReplay } from "./replay.ts";
import { JSON_PATH, NAMES, sized } from "./size.ts";
import { openTarget, type Target } from "./target.ts";
import { benchWebhooks } from "./webhooks.ts";

/**
 * Side by side, in one run: what a request costs against a bare route that does nothing else. Machines are
 * shared and noisy, so ratios of medians over interleaved rounds are what counts.
 */
const ALONE: Readonly<Record<string, () => unknown>> = {
  audit: benchAudit,
  evidence: benchEvidence,
  sequencing: benchSequencing,
  shield: benchShield,
  replay: benchReplay,
  webhooks: benchWebhooks,
  instances: benchInstances,
  refuse: refusals,
  unknown: unknownKeys,
  stall,
  start: benchStart,
};
/** Those that load one relay, which they share with an organization on it. */
const ON_A_RELAY: Readonly<Record<string, (target: Target) => unknown>> = {
  read: manyReads,
  mcp: mcpReads,
  exec,
  agent: realAgent,
  memory: agentMemory,
  logins: ({ base }) => wrongPasswords(base),
  streams: async (target) => {
    await idleSubscribers(target);
    await fanOut(target);
    await bursts(target);
  },
  stalled,
};
/** Those that fetch packages of others; only by name. */
const BESIDE_OTHERS: Readonly<Record<string, (target: Target) => unknown>> = {
  "better-auth": betterAuth,
  "mcp-others": mcpBesideOthers,
};
const KNOWN = [ALONE, ON_A_RELAY, BESIDE_OTHERS].flatMap((table) => Object.keys(table));
const DEADLINE_MS = sized(60, 2) * 60_000;

const unknown = NAMES.filter((name) => !KNOWN.includes(name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(", ")}. There are: ${KNOWN.join(", ")}`);
  Deno.exit(2);
}
if (JSON_PATH === "") {
  console.error("--json needs the path of a file");
  Deno.exit(2);
}
const chosen = NAMES.length > 0 ? NAMES : [...Object.keys(ALONE), ...Object.keys(ON_A_RELAY)];

let target: Target | null = null;
try {
  for (const name of new Set(chosen)) {
    console.log(`── ${name}`);
    measuring(name);
    await inTime(name, async () => {
      if (name in ALONE) return await ALONE[name]!();
      const run = ON_A_RELAY[name] ?? BESIDE_OTHERS[name]!;
      await run(target ??= await openTarget());
    });
    mustHaveGoals();
  }
  tabulate(JSON_PATH);
} catch (error) {
  console.error(error);
  Deno.exitCode = 1;
} finally {
  endAll();
}
Deno.exit();

/** A benchmark that waits for what will never come fails. */
async function inTime(name: string, run: () => Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const error = new Error(`${name} did not end within ${DEADLINE_MS / 60_000} minutes`);
  const timer = setTimeout(() => late.reject(error), DEADLINE_MS);
  try {
    await Promise.race([run(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
