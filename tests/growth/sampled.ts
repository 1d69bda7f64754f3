import process from "node:process";
import { median } from "../bench/parts.ts";

/** What one operation took. */
export interface Cost {
  readonly ms: number;
  /** Processor time of this process, background work included, in ms. */
  readonly cpuMs: number;
  /** How much resident memory rose above what was there before, at most, in MiB. */
  readonly mib: number;
  readonly runs: number;
}

/** How often an operation is repeated. */
export interface Repeats {
  readonly least: number;
  readonly most: number;
  /** Repetitions end after this time, once there are enough. */
  readonly forMs: number;
}

export const WHOLE: Repeats = { least: 5, most: 200, forMs: 1_500 };
export const QUICK: Repeats = { least: 1, most: 2, forMs: 20 };
export const ONCE: Repeats = { least: 1, most: 1, forMs: 0 };

/** Repetitions that do not count, while the code is compiled. */
const WARMING = 3;

/**
 * The median time and the mean processor time of repetitions; one that is not repeated is not warmed up either. What
 * `prepare` does before each does not count.
 */
export async function sampled(
  { least, most, forMs }: Repeats,
  run: (n: number) => Promise<unknown>,
  prepare: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Cost> {
  const before = residentMib("VmRSS");
  // Linux forgets the peak so far.
  if (Deno.build.os === "linux") Deno.writeTextFileSync("/proc/self/clear_refs", "5");
  const times: number[] = [];
  let cpuMs = 0;
  const one = async (n: number) => {
    await prepare();
    const from = performance.now(), used = process.cpuUsage();
    await run(n);
    const { user, system } = process.cpuUsage(used);
    return { ms: performance.now() - from, cpuMs: (user + system) / 1000 };
  };
  for (let n = 1; n <= WARMING && n < most; n++) await one(-n);
  const begun = performance.now();
  for (let n = 0; n < most && (n < least || performance.now() - begun < forMs); n++) {
    const took = await one(n);
    times.push(took.ms);
    cpuMs += took.cpuMs;
  }
  return {
    ms: median(times),
    cpuMs: cpuMs / times.length,
    mib: Math.max(0, residentMib("VmHWM") - before),
    runs: times.length,
  };
}

function residentMib(field: string): number {
  if (Deno.build.os !== "linux") return 0;
  const status = Deno.readTextFileSync("/proc/self/status");
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)![1]) / 1024;
}
