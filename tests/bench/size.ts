/**
 * How much a benchmark measures. `--seconds 1` asks for short runs: they show that every benchmark reaches
 * its end, and their figures mean little.
 */
const at = Deno.args.indexOf("--seconds");
const given = at < 0 ? null : Number(Deno.args[at + 1]);
if (given !== null && !(given > 0)) throw new Error("--seconds needs a number above 0");

/** Seconds of one round of load. */
export const SECONDS = given ?? Number(Deno.env.get("BENCH_SECONDS") ?? 2);
/** Rounds of which the median counts. */
export const ROUNDS = given === null ? Number(Deno.env.get("BENCH_ROUNDS") ?? 5) : 1;
/** A count for a whole run, and one for a short run. */
export const sized = (whole: number, short: number): number => given === null ? whole : short;
/** Connections that load is sent over, one set of rounds for each. */
export const CONNECTIONS: readonly number[] = given === null ? [32, 128] : [32];
/** The names among the arguments. */
export const NAMES: readonly string[] = Deno.args.filter((argument, n) =>
  argument !== "--" && (at < 0 || n !== at && n !== at + 1)
);
