import { START_MS, startMain, withFolder } from "../support/processes.ts";
import { figure } from "./figures.ts";
import { get, measure, median, mustAll } from "./parts.ts";
import { SECONDS, sized } from "./size.ts";

const DIRECT_RUNS = sized(50, 5);

/** What a command takes through a relay and a real agent, beside the same shell without them. */
export async function realAgent(
  { base, port, key }: { base: string; port: number; key: string },
): Promise<void> {
  await withFolder(async (folder) => {
    const agent = startMain(["agent", "--url", base, "--name", "real", "--state", folder], {
      RELAY_TOKEN: key,
    });
    try {
      const [, id] = await agent.line(/^connected to .* \((\w+)\)$/, START_MS);
      for (
        const [name, command] of [["no output", "true"], ["2,000 lines", "seq 1 2000"]] as const
      ) {
        const alone = await directMs(command);
        const path = `/api/exec/${id}?command=${encodeURIComponent(command)}`;
        const run = await measure(port, 1, SECONDS, [get(path, { "x-api-key": key })]);
        mustAll(run, "200");
        figure(`a command with ${name} by a real agent, p50`, run.p50Ms, "ms");
        const beside = `${alone.toFixed(1)} ms by the shell alone → ${run.p50Ms.toFixed(1)} ms`;
        console.log(`a command with ${name} by a real agent, p50 ${beside}`);
      }
    } finally {
      await agent.stop();
    }
  });
}

/** The median of some runs by the shell alone. */
async function directMs(command: string): Promise<number> {
  const took: number[] = [];
  for (let run = 0; run < DIRECT_RUNS; run++) {
    const startedMs = performance.now();
    await new Deno.Command("sh", { args: ["-c", command] }).output();
    took.push(performance.now() - startedMs);
  }
  return median(took);
}
