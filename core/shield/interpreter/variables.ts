import { quoteWord } from "./inner.ts";

/** Variables whose value other programs run as a command line. */
const RUN = new Set([
  "BROWSER",
  "CVS_RSH",
  "FCEDIT",
  "GIT_EXTERNAL_DIFF",
  "GIT_SSH",
  "LESSCLOSE",
  "LESSOPEN",
  "RSYNC_RSH",
  "RUSTC_WRAPPER",
  "SVN_SSH",
  "VISUAL",
]);
/** Variables that hold options of a program: each is judged as a call with them. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ["NODE_OPTIONS", "node"],
  ["PERL5OPT", "perl"],
  ["RUBYOPT", "ruby"],
  ["TAR_OPTIONS", "tar"],
]);
const PROMPTS = new Set(["PS0", "PS1", "PS2", "PS4"]);
const RUN_TAILS = ["PAGER", "EDITOR", "_COMMAND", "ASKPASS"];

/** The shell text in a variable that programs run; null for a plain value. */
export function runText(name: string, value: string): string | null {
  if (value === "" || value.startsWith("\0")) return null;
  // Prompts are expanded, not run; `set -x` shows PS4 before every command.
  if (PROMPTS.has(name)) return `: "${value.replaceAll('"', "")}"`;
  if (name === "PERL5DB") return `perl -e ${quoteWord(value)}`;
  const program = OPTIONS.get(name);
  if (program !== undefined) return `${program} ${value}`;
  if (!RUN.has(name) && !RUN_TAILS.some((tail) => name.endsWith(tail))) return null;
  return name.startsWith("LESS") && value.startsWith("|") ? value.slice(1) : value;
}
