import { endAll, median, ROOT } from "../parts.ts";
import { benchmarks } from "./benchmarks.ts";
import { type Rate, type Run, type Side, sideOf } from "./side.ts";

/**
 * This repository beside another checkout of it, by turns in one run:
 * `bench:paired --against FOLDER [--rounds 9] [--seconds 2] [NAME…]`. For each benchmark it prints the geometric
 * mean of the ratios of speed (above 1: this one is faster), its 95 % interval, and the median. Where the processor
 * time of the relay was measured, it prints the same for what the relay does in one second of it: other work on the
 * machine disturbs that less.
 */
const option = (name: string, otherwise?: string): string => {
  const at = Deno.args.indexOf(`--${name}`);
  const value = at < 0 ? otherwise : Deno.args[at + 1];
  if (value === undefined) fail(`--${name} needs a value`);
  return value;
};

const against = option("against");
const rounds = Number(option("rounds", "9"));
const seconds = Number(option("seconds", "2"));
const names = Deno.args.filter((argument, n) =>
  !argument.startsWith("--") && !Deno.args[n - 1]?.startsWith("--")
);

if (!(rounds >= 2)) fail("--rounds needs a number of at least 2");
if (!(seconds > 0)) fail("--seconds needs a number above 0");
const known = benchmarks(seconds);
const unknown = names.filter((name) => !Object.hasOwn(known, name));
if (unknown.length > 0) {
  fail(
    `There is no benchmark ${unknown.join(", ")}. There are: ${Object.keys(known).join(", ")}`,
  );
}

const sides = [ROOT, `${await Deno.realPath(against)}/`].map(sideOf) as [Side, Side];
try {
  for (const name of names.length > 0 ? names : Object.keys(known)) {
    for (const [title, run] of Object.entries(known[name]!)) await compare(title, run);
  }
} finally {
  endAll();
}
Deno.exit();

function fail(message: string): never {
  console.error(message);
  Deno.exit(2);
}

/** Runs both sides in each round, the first one by turns, after a round that does not count. */
async function compare(title: string, run: Run): Promise<void> {
  const speeds: number[] = [], savings: number[] = [];
  for (let round = -1; round < rounds; round++) {
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    const all: Rate[] = [];
    for (const n of order) all[n] = await run(sides[n]!);
    if (round < 0) continue;
    const [ours, theirs] = all as [Rate, Rate];
    speeds.push(ours.per / theirs.per);
    if (ours.cpuMs !== undefined) savings.push(theirs.cpuMs! / ours.cpuMs);
  }
  print(title, speeds);
  if (savings.length > 0) print(`${title}, by processor time`, savings);
}

function print(title: string, ratios: readonly number[]): void {
  const [low, mean, high] = interval(ratios).map((ratio) => ratio.toFixed(2));
  const shown = ratios.map((ratio) => ratio.toFixed(2)).join(" ");
  const middle = median(ratios).toFixed(2);
  console.log(`${title.padEnd(51)} ${mean} (${low} to ${high}), median ${middle} of ${shown}`);
}

/** The geometric mean of some ratios and its 95 % interval, by Student's distribution of their logarithms. */
function interval(ratios: readonly number[]): [number, number, number] {
  const logs = ratios.map(Math.log);
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1);
  const half = studentOf(logs.length - 1) * Math.sqrt(variance / logs.length);
  return [Math.exp(mean - half), Math.exp(mean), Math.exp(mean + half)];
}

/** The 97.5 % quantile of Student's distribution: exact to 10 degrees of freedom, then expanded from the normal one. */
function studentOf(degrees: number): number {
  const exact = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
  return exact[degrees - 1] ?? 1.96 + 2.373 / degrees + 2.823 / degrees ** 2;
}
