import { type Budget, spend } from "./budget.ts";
import { decodeEscapes } from "./decode.ts";

/** What code of another language says, as far as its tokens tell. */
export interface CodeScan {
  readonly language: string;
  /** Lower-case names, with their dots: `os.system`, `require`, `shutil.rmtree`. */
  readonly names: ReadonlySet<string>;
  readonly strings: readonly string[];
  /** Strings that the code hands to a shell, or arguments that it joins into a command. */
  readonly shellTexts: readonly string[];
}

/** Names by which code starts a program. */
const RUNNERS = new Set([
  "system",
  "popen",
  "exec",
  "execsync",
  "execfile",
  "execfilesync",
  "spawn",
  "spawnsync",
  "spawnl",
  "spawnlp",
  "spawnv",
  "execl",
  "execlp",
  "execle",
  "execv",
  "execve",
  "execvp",
  "execvpe",
  "subprocess",
  "check_output",
  "check_call",
  "getoutput",
  "getstatusoutput",
  "shell_exec",
  "passthru",
  "proc_open",
  "pcntl_exec",
  "qx",
  "open3",
  "capture2",
  "capture3",
  "pty",
  "child_process",
  "os.execute",
  "io.popen",
  "execute",
  "doshellscript",
  "start-process",
  "invoke-expression",
  "iex",
  "processbuilder",
  "deno.command",
  "shell-command",
  "shell-command-to-string",
  "async-shell-command",
  "call-process",
  "systemlist",
  "termopen",
  "jobstart",
]);

/** Names that start a program only where one of these modules is in play: `run`, `call`. */
const RUNNER_MODULES = new Set(["subprocess", "child_process", "deno", "bun", "sh", "runtime"]);

/** Reads code once, without a grammar: names, strings, and which strings become commands. */
export function scanCode(code: string, language: string, budget: Budget): CodeScan {
  const names = new Set<string>();
  const strings: string[] = [];
  const groups: string[][] = [];
  const ticks: string[] = [];
  let group: string[] = [];
  const backticks = BACKTICKED.has(language);
  const pipes = PIPING.get(language);
  let piped = false;
  for (let i = 0; i < code.length;) {
    const c = code[i] ?? "";
    if (isNameStart(c)) {
      const end = skipName(code, i);
      spend(budget, end - i);
      addNames(names, code.slice(i, end).toLowerCase());
      i = end;
    } else if (c === "'" || c === '"' || c === "`") {
      const end = skipString(code, i);
      spend(budget, end - i);
      const text = decodeEscapes(code.slice(i + 1, end - 1));
      strings.push(text);
      group.push(text);
      if (c === "`" && (backticks || code[i - 1] === "$")) ticks.push(text);
      // Awk: `"program" | getline` and `print | "program"`. Perl and Ruby: open("|program").
      if (pipes === "operator" && (piped || nextIs(code, end, "|"))) ticks.push(text);
      if (pipes === "string" && (text.startsWith("|") || text.endsWith("|"))) {
        ticks.push(trimPipes(text));
      }
      piped = false;
      i = end;
    } else if (c === "#" && language === "python") {
      const end = code.indexOf("\n", i);
      i = end < 0 ? code.length : end;
    } else {
      // A list such as ["rm", "-rf", "/"] becomes one command; a bracket or a semicolon ends it.
      if (c === ")" || c === "]" || c === ";" || c === "}" || c === "\n") {
        if (group.length > 1) groups.push(group);
        group = [];
      }
      if (c !== " ") piped = c === "|" && !piped;
      i++;
    }
  }
  if (group.length > 1) groups.push(group);
  const texts = [...ticks, ...bracedCommands(code, language)];
  if (runsPrograms(names)) {
    texts.push(
      ...strings,
      // execvp names its program twice: ("rm", ["rm", "-rf", "/"]).
      ...groups.map((words) => words.slice(words[0] === words[1] ? 1 : 0).join(" ")),
      ...groups.map((words) => words.join("")),
    );
    texts.push(...bareWords(code));
  }
  if (language === "osascript") texts.push(...strings);
  if (language === "expect" || language === "tclsh") {
    texts.push(
      ...code.split("\n").map((line) => line.trim()).map((line) =>
        line.startsWith("spawn ") || line.startsWith("exec ")
          ? line.slice(line.indexOf(" ") + 1)
          : ""
      ),
    );
  }
  if (language === "pwsh" || language === "powershell") texts.push(code.replaceAll("\\", "/"));
  return {
    language,
    names,
    strings,
    shellTexts: [...new Set(texts)].filter(mayBeCommand),
  };
}

const BACKTICKED = new Set(["ruby", "perl", "php", "julia", "crystal"]);
const PIPING: ReadonlyMap<string, "operator" | "string"> = new Map([
  ["awk", "operator"],
  ["perl", "string"],
  ["ruby", "string"],
]);

function nextIs(code: string, from: number, mark: string): boolean {
  let i = from;
  while (code[i] === " ") i++;
  return code[i] === mark && code[i + 1] !== mark;
}

function trimPipes(text: string): string {
  return text.slice(text.startsWith("|") ? 1 : 0, text.endsWith("|") ? -1 : undefined);
}

function mayBeCommand(text: string): boolean {
  return text.trim().length >= 2;
}

function runsPrograms(names: ReadonlySet<string>): boolean {
  for (const name of names) if (RUNNERS.has(name) || RUNNER_MODULES.has(name)) return true;
  return false;
}

function addNames(names: Set<string>, dotted: string): void {
  names.add(dotted);
  if (!dotted.includes(".")) return;
  for (const part of dotted.split(".")) if (part !== "") names.add(part);
}

/** Ruby's `%x(…)`, Perl's `qx(…)`. */
function bracedCommands(code: string, language: string): string[] {
  if (language !== "ruby" && language !== "perl") return [];
  const found: string[] = [];
  for (const mark of ["%x", "qx"]) {
    const at = code.indexOf(mark);
    if (at < 0) continue;
    const open = code[at + 2] ?? "";
    const close = ({ "(": ")", "{": "}", "[": "]", "<": ">" } as Record<string, string>)[open] ??
      open;
    const end = close === "" ? -1 : code.indexOf(close, at + 3);
    if (end > 0) found.push(code.slice(at + 3, end));
  }
  return found;
}

/** Perl's `q(…)` and Ruby's `%w[…]` and `%q(…)` are strings without quotes. */
function bareWords(code: string): string[] {
  const found: string[] = [];
  for (const mark of ["q(", "q{", "qq(", "qq{", "qw(", "%w[", "%w(", "%q(", "%Q("]) {
    const at = code.indexOf(mark);
    if (at < 0) continue;
    const close = mark.endsWith("(") ? ")" : mark.endsWith("{") ? "}" : "]";
    const end = code.indexOf(close, at);
    if (end > 0) found.push(code.slice(at + mark.length, end));
  }
  return found;
}

function isNameStart(c: string): boolean {
  return (c >= "a" && c <= "z") || (c >= "A" && c <= "Z") || c === "_";
}

function skipName(code: string, from: number): number {
  let i = from + 1;
  for (; i < code.length; i++) {
    const c = code[i] ?? "";
    if (isNameStart(c) || (c >= "0" && c <= "9") || c === "-" || c === "?" || c === "!") continue;
    if (c === "." && isNameStart(code[i + 1] ?? "")) continue;
    if (c === ":" && code[i + 1] === ":") {
      i++;
      continue;
    }
    break;
  }
  return i;
}

/** The offset after a string's closing quote; a string that is not closed ends with the code. */
function skipString(code: string, from: number): number {
  const quote = code[from];
  for (let i = from + 1; i < code.length; i++) {
    if (code[i] === "\\") i++;
    else if (code[i] === quote) return i + 1;
  }
  return code.length + 1;
}
