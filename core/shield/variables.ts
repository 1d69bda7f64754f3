/** Variables whose value other programs run as a command line. */
const RUN = new Set([
  "BROWSER",
  "FCEDIT",
  "GIT_EXTERNAL_DIFF",
  "GIT_SSH",
  "LESSCLOSE",
  "LESSOPEN",
  "RSYNC_RSH",
  "VISUAL",
]);
const PROMPTS = new Set(["PS0", "PS1", "PS2", "PS4"]);
const RUN_TAILS = ["PAGER", "EDITOR", "_COMMAND", "ASKPASS"];

/** The shell text that a variable's value is for those who read it; null for plain values. */
export function runText(name: string, value: string): string | null {
  if (value === "" || value.startsWith("\0")) return null;
  // Prompts are expanded, not run; `set -x` shows PS4 before every command.
  if (PROMPTS.has(name)) return `: "${value.replaceAll('"', "")}"`;
  if (!RUN.has(name) && !RUN_TAILS.some((tail) => name.endsWith(tail))) return null;
  return name.startsWith("LESS") && value.startsWith("|") ? value.slice(1) : value;
}
