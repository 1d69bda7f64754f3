/**
 * Runs a command that does one thing and ends: shows its help, says what is wrong with its arguments, or does it.
 * Resolves to the exit code: 0 unless `work` says another, 1 when it fails, 2 for wrong arguments.
 */
export async function runOnce(
  { name, help }: { readonly name: string; readonly help: string },
  args: readonly string[],
  /** What it does, or what is wrong with its arguments, as a sentence. */
  work: (() => Promise<number | void> | void) | string,
): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(help);
    return 0;
  }
  if (typeof work === "string") {
    console.error(`${work} See: relay ${name} --help`);
    return 2;
  }
  try {
    return await work() ?? 0;
  } catch (error) {
    console.error(`relay: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

/** What is wrong with an argument of a command that takes none. */
export const unknownOption = (option: string): string =>
  `There is no option ${JSON.stringify(option)}.`;
