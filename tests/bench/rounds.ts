import { measure, type Measured, median } from "./parts.ts";

const ROUNDS = Number(Deno.env.get("BENCH_ROUNDS") ?? 5);
const SECONDS = Number(Deno.env.get("BENCH_SECONDS") ?? 2);

/** A bare server and ours, round for round. */
export interface Pair {
  readonly bare: Measured[];
  readonly ours: Measured[];
  /** Every request that was answered here, the warming ones too. */
  answered: number;
}

/** Loads both by turns, after ours has been warmed. */
export async function rounds(
  connections: number,
  bare: [port: number, requests: string[]],
  ours: [port: number, requests: string[]],
): Promise<Pair> {
  const warm = await measure(ours[0], connections, 2, ours[1]);
  const pair: Pair = { bare: [], ours: [], answered: warm.answered };
  for (let round = 0; round < ROUNDS; round++) {
    pair.bare.push(await measure(bare[0], connections, SECONDS, bare[1]));
    const run = await measure(ours[0], connections, SECONDS, ours[1]);
    pair.ours.push(run);
    pair.answered += run.answered;
  }
  return pair;
}

/** Prints the medians; a status other than `expected` stands out, `other` is what `bare` is. */
export function report(
  name: string,
  { bare, ours }: Pair,
  { other = "bare", expected = "200" } = {},
): void {
  const per = (runs: Measured[]) => median(runs.map((run) => run.perSecond));
  const p50 = (runs: Measured[]) => median(runs.map((run) => run.p50Ms)).toFixed(2);
  const p99 = (runs: Measured[]) => median(runs.map((run) => run.p99Ms)).toFixed(2);
  const ratio = median(ours.map((run, n) => run.perSecond / bare[n]!.perSecond));
  const bad = ours.flatMap((run) => Object.keys(run.statuses)).filter((status) =>
    status !== expected
  );
  console.log(
    `${name.padEnd(44)} ${other} ${per(bare).toFixed(0).padStart(7)}/s  ours ${
      per(ours).toFixed(0).padStart(6)
    }/s  ratio ${ratio.toFixed(3)}  p50 ${p50(bare)} → ${p50(ours)} ms  p99 ${p99(bare)} → ${
      p99(ours)
    } ms${bad.length > 0 ? `  STATUSES ${JSON.stringify(ours.at(-1)!.statuses)}` : ""}`,
  );
}
