const option = (name: string): string | undefined => {
  const at = Deno.args.indexOf(`--${name}`);
  return at < 0 ? undefined : Deno.args[at + 1] ?? "";
};
/**
 * How much a benchmark measures. `--seconds 1` asks for short runs: they show that every benchmark reaches
 * its end, and their figures mean little.
 */
const given = option("seconds") === undefined ? null : Number(option("seconds"));
if (given !== null && !(given > 0)) throw new Error("--seconds needs a number above 0");

/** True for a short run. */
export const IS_SHORT = given !== null;
/** Seconds of one round of load. */
export const SECONDS = given ?? Number(Deno.env.get("BENCH_SECONDS") ?? 2);
/** Rounds of which the median counts. */
export const ROUNDS = IS_SHORT ? 1 : Number(Deno.env.get("BENCH_ROUNDS") ?? 5);
/** A count for a whole run, and one for a short run. */
export const sized = (whole: number, short: number): number => IS_SHORT ? short : whole;
/** Connections that load is sent over, one set of rounds for each. */
export const CONNECTIONS: readonly number[] = IS_SHORT ? [32] : [32, 128];
/** Where the figures go as JSON, if anywhere. */
export const JSON_PATH = option("json");
/** The names among the arguments. */
export const NAMES: readonly string[] = Deno.args.filter((argument, n) =>
  !argument.startsWith("--") && !/^--(seconds|json)$/.test(Deno.args[n - 1] ?? "")
);
