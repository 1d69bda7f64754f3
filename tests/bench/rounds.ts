import { figure } from "./figures.ts";
import { measure, type Measured, median, mustAll } from "./parts.ts";
import { ROUNDS, SECONDS } from "./size.ts";

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
  const warm = await measure(ours[0], connections, SECONDS, ours[1]);
  const pair: Pair = { bare: [], ours: [], answered: warm.answered };
  for (let round = 0; round < ROUNDS; round++) {
    pair.bare.push(await measure(bare[0], connections, SECONDS, bare[1]));
    const run = await measure(ours[0], connections, SECONDS, ours[1]);
    pair.ours.push(run);
    pair.answered += run.answered;
  }
  return pair;
}

/**
 * Prints the medians; `other` is what `bare` is.
 * @throws {Error} when a request of either side was answered with another status than expected
 */
export function report(
  name: string,
  { bare, ours }: Pair,
  { other = "bare", expected = "200" } = {},
): void {
  const per = (runs: Measured[]) => median(runs.map((run) => run.perSecond));
  const p50 = (runs: Measured[]) => median(runs.map((run) => run.p50Ms)).toFixed(2);
  const p99 = (runs: Measured[]) => median(runs.map((run) => run.p99Ms)).toFixed(2);
  const ratio = median(ours.map((run, n) => run.perSecond / bare[n]!.perSecond));
  figure(name, ratio, other === "bare" ? "of bare" : `of ${other}`);
  for (const run of bare) mustAll(run, "200");
  for (const run of ours) mustAll(run, expected);
  console.log(
    `${name.padEnd(44)} ${other} ${per(bare).toFixed(0).padStart(7)}/s  ours ${
      per(ours).toFixed(0).padStart(6)
    }/s  ratio ${ratio.toFixed(3)}  p50 ${p50(bare)} → ${p50(ours)} ms  p99 ${p99(bare)} → ${
      p99(ours)
    } ms`,
  );
}
