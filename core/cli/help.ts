/** True for `--help` or `-h`, wherever it stands. */
export const asksForHelp = (args: readonly string[]): boolean =>
  args.includes("--help") || args.includes("-h");
