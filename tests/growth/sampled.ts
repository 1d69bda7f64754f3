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

/** The median time of repetitions, after one that does not count unless there is only one. */
export async function sampled(
  { least, most, forMs }: Repeats,
  run: (n: number) => Promise<number | void>,
): Promise<Cost> {
  const before = residentMib("VmRSS");
  // Linux forgets the peak so far.
  if (Deno.build.os === "linux") Deno.writeTextFileSync("/proc/self/clear_refs", "5");
  const times: number[] = [];
  if (most > 1) await run(-1);
  const begun = performance.now(), used = process.cpuUsage();
  for (let n = 0; n < most && (n < least || performance.now() - begun < forMs); n++) {
    const from = performance.now();
    // What is prepared before an operation is not a part of it.
    times.push(await run(n) ?? performance.now() - from);
  }
  const { user, system } = process.cpuUsage(used);
  return {
    ms: median(times),
    cpuMs: (user + system) / 1000 / times.length,
    mib: Math.max(0, residentMib("VmHWM") - before),
    runs: times.length,
  };
}

function residentMib(field: string): number {
  if (Deno.build.os !== "linux") return 0;
  const status = Deno.readTextFileSync("/proc/self/status");
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)![1]) / 1024;
}
