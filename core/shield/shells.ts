/** Programs that run shell text: given with `-c`, in a file, or on standard input. */
export const SHELLS: ReadonlySet<string> = new Set([
  "sh",
  "bash",
  "zsh",
  "dash",
  "ksh",
  "ksh93",
  "mksh",
  "ash",
  "rbash",
  "fish",
  "csh",
  "tcsh",
  "hush",
  "oksh",
  "yash",
  "posh",
  "su",
]);

/** Programs that run code of another language, and the options that take it. */
export const INTERPRETERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["python", ["-c"]],
  ["pypy", ["-c"]],
  ["perl", ["-e", "-E"]],
  ["ruby", ["-e"]],
  ["node", ["-e", "--eval", "-p", "--print", "-pe"]],
  ["nodejs", ["-e", "--eval", "-p", "--print"]],
  ["bun", ["-e", "--eval", "-p"]],
  ["deno", []],
  ["php", ["-r"]],
  ["lua", ["-e"]],
  ["luajit", ["-e"]],
  ["osascript", ["-e"]],
  ["tclsh", ["-c"]],
  ["expect", ["-c"]],
  ["groovy", ["-e"]],
  ["scala", ["-e"]],
  ["julia", ["-e"]],
  ["rscript", ["-e"]],
  ["elixir", ["-e"]],
  ["guile", ["-c"]],
  ["pwsh", ["-command", "-c", "-encodedcommand", "-enc", "-ec", "-e"]],
  ["powershell", ["-command", "-c", "-encodedcommand", "-enc", "-ec", "-e"]],
]);

/** The interpreter's family: `python3.12` is `python`; null for other programs. */
export function interpreterOf(name: string): string | null {
  let end = name.length;
  while (end > 0 && "0123456789.-".includes(name[end - 1] ?? "")) end--;
  const family = name.slice(0, end);
  return INTERPRETERS.has(family) ? family : null;
}
