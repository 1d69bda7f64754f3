/** The commands of a shell's history file: of bash, zsh, fish, or one command a line. */
export function commandsOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.some((line) => FISH.test(line))) return fishCommands(lines);
  if (lines.some((line) => ZSH.test(line))) return zshCommands(lines);
  if (lines.some((line) => BASH_TIME.test(line))) return stampedCommands(lines);
  return lines.filter((line) => line.trim() !== "");
}

const FISH = /^- cmd: /;
/** The beginning of an entry of zsh's extended history: its time and its duration. */
const ZSH = /^: \d+:\d+;/;
/** The line before an entry of bash, when it keeps times. */
const BASH_TIME = /^#\d{9,}$/;

const fishCommands = (lines: readonly string[]): string[] =>
  lines.filter((line) => FISH.test(line)).map((line) =>
    line.slice("- cmd: ".length).replaceAll(/\\(\\|n)/g, (_, mark) => mark === "n" ? "\n" : "\\")
  );

/** In zsh's file a line that ends with a backslash goes on in the next one. */
function zshCommands(lines: readonly string[]): string[] {
  const commands: string[] = [];
  let open: string | null = null;
  for (const line of lines) {
    const part: string = open === null ? line.replace(ZSH, "") : `${open}\n${line}`;
    open = part.endsWith("\\") ? part.slice(0, -1) : null;
    if (open === null && part.trim() !== "") commands.push(part);
  }
  return open === null ? commands : [...commands, open];
}

/** All lines between two times are one command. */
function stampedCommands(lines: readonly string[]): string[] {
  const commands: string[][] = [[]];
  for (const line of lines) {
    if (BASH_TIME.test(line)) commands.push([]);
    else commands.at(-1)!.push(line);
  }
  return commands.map((some) => some.join("\n").trimEnd()).filter((command) => command !== "");
}
