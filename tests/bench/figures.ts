import { IS_SHORT } from "./size.ts";

/** What the benchmarks of one run measured, and the goals beside it. */
interface Figure {
  readonly benchmark: string;
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The least, or with `atMost` the most, that it should be. */
  readonly goal?: number;
  readonly atMost?: boolean;
}

type Goal = readonly [is: "at least" | "at most", value: number];

/** Goals by benchmark and figure; short runs have none. A ratio is that of Relay's rate to the bare server's. */
const GOALS: Readonly<Record<string, Readonly<Record<string, Goal>>>> = IS_SHORT ? {} : {
  read: {
    "audited read, 1 organization, 32 connections": ["at least", 0.2],
    "audited read, 1 organization, 128 connections": ["at least", 0.3],
    "audited read, 100 organizations, 32 connections": ["at least", 0.16],
    "audited read, 100 organizations, 128 connections": ["at least", 0.24],
  },
  exec: {
    "exec to an agent that answers, 32 connections": ["at least", 0.25],
    "exec to an agent that answers, 128 connections": ["at least", 0.4],
  },
  evidence: {
    "archive of 100000 rows": ["at most", 20],
    "the same, resident at most": ["at most", 200],
  },
  start: {
    "relay serve, to the first 200 of /healthz": ["at most", 250],
    "relay serve from its parts, to the first 200 of /healthz": ["at most", 250],
    "relay agent, to its link": ["at most", 150],
    "relay agent from its parts, to its link": ["at most", 150],
  },
  streams: {
    "burst to 1000 sockets, relay.events.batches.v1": ["at least", 120_000],
    "event to the last of 1000 sockets, relay.events.v1, p50": ["at most", 15],
  },
  webhooks: {
    "over http": ["at least", 12_000],
    "over https": ["at least", 12_000],
  },
  shield: {
    "daily work, p99": ["at most", 0.2],
    "adversarial text of 64 KiB, the slowest": ["at most", 15],
  },
};

const figures: Figure[] = [];
let benchmark = "";

/** Names the benchmark that measures from now on. */
export function measuring(name: string): void {
  benchmark = name;
}

/** Notes one figure of the benchmark that runs. */
export function figure(name: string, value: number, unit: string): void {
  const goal = GOALS[benchmark]?.[name];
  figures.push({
    benchmark,
    name,
    value,
    unit,
    ...goal && { goal: goal[1], atMost: goal[0] === "at most" },
  });
}

/** @throws {Error} when the benchmark that ran has a goal for a figure that it did not measure */
export function mustHaveGoals(): void {
  const measured = figures.filter((each) => each.benchmark === benchmark).map(({ name }) => name);
  const missing = Object.keys(GOALS[benchmark] ?? {}).filter((name) => !measured.includes(name));
  if (missing.length > 0) throw new Error(`${benchmark} has no figure ${missing.join(", ")}`);
}

/** Prints every figure with its goal as one table, and writes them to `path` as JSON. */
export function tabulate(path: string | undefined): void {
  const rows = figures.map(({ benchmark, name, value, unit, goal, atMost }) => [
    benchmark,
    name,
    `${shown(value)} ${unit}`,
    goal === undefined ? "" : `${atMost ? "≤" : "≥"} ${shown(goal)}`,
    goal === undefined ? "" : (atMost ? value <= goal : value >= goal) ? "met" : "missed",
  ]);
  const table = [["benchmark", "figure", "measured", "goal", ""], ...rows];
  const widths = table[0]!.map((_, at) => Math.max(...table.map((row) => row[at]!.length)));
  console.log("");
  for (const row of table) {
    console.log(row.map((cell, at) => cell.padEnd(widths[at]!)).join("  ").trimEnd());
  }
  if (path === undefined) return;
  const { arch, os } = Deno.build;
  const run = { at: new Date().toISOString(), cores: navigator.hardwareConcurrency, os, arch };
  const made = { ...run, deno: Deno.version.deno, figures };
  Deno.writeTextFileSync(path, `${JSON.stringify(made, null, 2)}\n`);
}

const shown = (value: number): string =>
  value >= 1000 ? Math.round(value).toLocaleString("en-US") : `${Number(value.toPrecision(3))}`;
