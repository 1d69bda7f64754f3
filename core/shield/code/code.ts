import type { CodeScan } from "../model.ts";
import { type Budget, spend } from "../interpreter/budget.ts";
import { withoutUncalled } from "./uncalled.ts";
import { decodeEscapes } from "./decode.ts";
import { quoteWord } from "../interpreter/inner.ts";
import { isPowershell, statementsOf } from "./powershell.ts";
import { isRemover, removalAt, REMOVERS } from "./removers.ts";
import { MAY_RUN, RUNNERS, runsComputed, startsLiteral } from "./runners.ts";
import { SHELLS } from "../programs/families/shells.ts";

/** Reads code once, without a grammar: names, strings, and which strings become commands. */
export function scanCode(written: string, language: string, budget: Budget): CodeScan {
  const code = language === "python" ? withoutUncalled(written) : written;
  const names = new Set<string>();
  const strings: string[] = [];
  const groups: string[][] = [];
  const ticks: string[] = [];
  let group: string[] = [];
  const backticks = BACKTICKED.has(language);
  const pipes = PIPING.has(language);
  let piped = false;
  let computes = false;
  const removals: (string | null)[] = [];
  const awk = language.endsWith("awk");
  // Where the statement began, and the last character that was no blank.
  let statement = 0;
  let last = "\n";
  for (let i = 0; i < code.length;) {
    const c = code[i] ?? "";
    if (isNameStart(c)) {
      const end = skipName(code, i);
      spend(budget, end - i);
      const name = code.slice(i, end).toLowerCase();
      if (isRemover(name)) removals.push(removalAt(code, end, name));
      addNames(names, name);
      computes ||= runsComputed(code, [i, end], language, names);
      last = "a";
      i = end;
    } else if (c === "'" || c === '"' || c === "`") {
      const end = skipString(code, i);
      spend(budget, end - i);
      const text = decodeEscapes(code.slice(i + 1, end - 1));
      strings.push(text);
      if (text.endsWith("child_process")) names.add("child_process");
      group.push(text);
      if (c === "`" && (backticks || code[i - 1] === "$")) ticks.push(text);
      // Awk: `"program" | getline`, `print | "program"` and `print > "file"`. Perl and Ruby: open("|program").
      if (awk && (piped || nextIs(code, end, "|"))) ticks.push(text);
      // What `print | "sh"` hands to a shell is only known when it runs.
      computes ||= awk && piped && SHELLS.has(text.slice(text.lastIndexOf("/") + 1));
      if (awk && last === ">") ticks.push(`: > ${quoteWord(text)}`);
      if (pipes && (text.startsWith("|") || text.endsWith("|"))) {
        ticks.push(trimPipes(text));
      }
      piped = false;
      last = c;
      i = end;
    } else if (awk && c === "/" && BEFORE_PATTERN.includes(last)) {
      i = skipString(code, i);
      last = c;
    } else if (c === "#" && (awk || language === "python")) {
      const end = code.indexOf("\n", i);
      i = end < 0 ? code.length : end;
    } else {
      // A list such as ["rm", "-rf", "/"] becomes one command; a bracket or a semicolon ends it.
      if (c === ")" || c === "]" || c === ";" || c === "}" || c === "\n") {
        if (group.length > 1) groups.push(group);
        group = [];
      }
      if (c !== " " && !(awk && c === "&")) piped = c === "|" && !piped;
      if (awk && c === "|") {
        if (code[i + 1] === "|" || code[i - 1] === "|") piped = false;
        else computes ||= !pipesLiteral(code, statement, i);
      }
      if (c !== " " && !(c === "\n" && code[i - 1] === "\\")) last = c;
      if (";{}(\n".includes(c)) statement = i + 1;
      i++;
    }
  }
  if (group.length > 1) groups.push(group);
  const texts = [...ticks, ...removals.filter((text) => text !== null)];
  if (pipes) texts.push(...bareTexts(code, true));
  if (runsPrograms(names) || (names.has("execute") && !QUERYING.has(language))) {
    texts.push(
      ...strings,
      // execvp names its program twice: ("rm", ["rm", "-rf", "/"]).
      ...groups.map((words) => words.slice(words[0] === words[1] ? 1 : 0).join(" ")),
      ...groups.map((words) => words.join("")),
    );
    if (pipes) texts.push(...bareTexts(code, false));
  }
  if (language === "osascript") {
    texts.push(...strings, ...ENDS_SYSTEM.test(code) ? ["shutdown -h now"] : []);
  }
  if (language === "expect" || language === "tclsh") {
    texts.push(
      ...code.split("\n").map((line) => line.trim()).map((line) =>
        line.startsWith("spawn ") || line.startsWith("exec ")
          ? line.slice(line.indexOf(" ") + 1)
          : line.startsWith("file delete ")
          ? `rm -r ${line.slice("file delete ".length)}`
          : ""
      ),
      ...code.split(/[\n;\][]/).map((part) => TCL_WRITES.exec(part)?.[1] ?? "").map((path) =>
        path === "" ? "" : `: > ${quoteWord(path)}`
      ),
    );
  }
  return {
    language,
    code,
    names,
    strings,
    computes: computes || callsByName(code, language, names, strings),
    removesUnseen: removals.includes(null) || removesByName(names, strings) ||
      (removals.length > 0 && !names.isDisjointFrom(MOVERS)),
    shellTexts: [...new Set(texts)].filter(mayBeCommand),
    statements: isPowershell(language) ? statementsOf(code) : [],
  };
}

/** `tell app "System Events" to shut down`. */
const ENDS_SYSTEM = /\b(?:to\s|\n\s*)(?:shut down|restart)\b/;
/** `open /etc/motd w`. */
const TCL_WRITES = /^\s*open\s+(\/\S+)\s+(?:[wa]|r\+)/;

/** Whether code calls something by a name that is a value: `&$f("rm")`, `getattr(os, "sys" + "tem")`. */
function callsByName(
  code: string,
  language: string,
  names: ReadonlySet<string>,
  strings: readonly string[],
): boolean {
  if (BY_NAME.get(language)?.test(code)) return true;
  if (names.isDisjointFrom(REFLECTORS)) return false;
  return strings.some((text) => RUNNERS.has(text.toLowerCase())) || !names.isDisjointFrom(RUNNING);
}

/** `iex $text`, `. $file`, `&(…)`, and whatever is piped into iex. */
const POWERSHELL =
  /(?:\b(?:iex|invoke-expression)(?:[ \t]+-command\b)?|^\.|[\s;{(]\.|&)[ \t]*[$(]|\|[ \t]*(?:iex|invoke-expression)\b/i;
const BY_NAME: ReadonlyMap<string, RegExp> = new Map([
  ["perl", /(?:^|[^&])&(?:\$+\w|\{)|\$\w+->\(/],
  ["php", /(?:^|[^>\w])\$\w+\s?\(/],
  ["powershell", POWERSHELL],
  ["pwsh", POWERSHELL],
  ["node", /\brequire\(\s*["']\w*["']\s*\+/],
]);
const REFLECTORS = new Set([
  "getattr",
  "__dict__",
  "__getattribute__",
  "attrgetter",
  "call_user_func",
  "call_user_func_array",
  "array_map",
  "array_walk",
]);
const RUNNING = new Set(["os", "subprocess", "__import__", "importlib"]);

/** Behind these a path is another one. */
const MOVERS = new Set(["chdir", "fchdir", "chroot"]);

/** `array_map("unlink", …)`. */
function removesByName(names: ReadonlySet<string>, strings: readonly string[]): boolean {
  return !names.isDisjointFrom(REFLECTORS) && strings.some((text) => REMOVERS.has(text));
}

/** Languages in which `execute` is given SQL. */
const QUERYING = new Set([
  "python",
  "pypy",
  "node",
  "nodejs",
  "bun",
  "deno",
  "php",
  "perl",
  "ruby",
]);

const BACKTICKED = new Set(["ruby", "perl", "php", "julia", "crystal"]);
/** Languages whose `open` starts a program where its text has a bar. */
const PIPING = new Set(["perl", "ruby"]);
/** What stands before a pattern in slashes, as it cannot before a division. */
const BEFORE_PATTERN = "\n(,{};!~&|";

/** Awk: whether one literal stands before `| getline`, or behind `print |`. */
function pipesLiteral(code: string, statement: number, at: number): boolean {
  const behind = code.slice(at + 1, at + 32).replace("&", "").trimStart();
  if (!behind.startsWith("getline")) {
    return startsLiteral(code, code[at + 1] === "&" ? at + 2 : at + 1);
  }
  const before = code.slice(statement, at).replace(/^\s*while\b/, "").trim();
  return before.startsWith('"') && skipString(before, 0) === before.length;
}

function nextIs(code: string, from: number, mark: string): boolean {
  let i = from;
  while (code[i] === " ") i++;
  return code[i] === mark && code[i + 1] !== mark;
}

function trimPipes(text: string): string {
  return text.slice(text.startsWith("|") ? 1 : 0, text.endsWith("|") ? -1 : undefined);
}

function mayBeCommand(text: string): boolean {
  return text.trim().length >= 2 && !ENDS_OF_BLOCKS.has(text.trim());
}

/** Words that a shell knows, but that run nothing by themselves. */
const ENDS_OF_BLOCKS = new Set(["do", "done", "elif", "else", "esac", "fi", "if", "in", "then"]);

function runsPrograms(names: ReadonlySet<string>): boolean {
  return !names.isDisjointFrom(RUNNERS) || !names.isDisjointFrom(MAY_RUN);
}

function addNames(names: Set<string>, dotted: string): void {
  names.add(dotted);
  if (!dotted.includes(".") && !dotted.includes("::")) return;
  for (const part of dotted.split(/\.|::/)) if (part !== "") names.add(part);
}

/** Perl's `qw(…)` and Ruby's `%w[…]` are strings without quotes; `qx{…}` and `%x(…)` are commands. */
function bareTexts(code: string, run: boolean): string[] {
  const found: string[] = [];
  BARE_TEXT.lastIndex = 0;
  for (let match = BARE_TEXT.exec(code); match !== null; match = BARE_TEXT.exec(code)) {
    const [, kind = "", open = ""] = match;
    const end = code.indexOf(CLOSING.get(open) ?? open, BARE_TEXT.lastIndex);
    if (end < 0) break;
    if ((kind === "x") === run) found.push(code.slice(BARE_TEXT.lastIndex, end));
    BARE_TEXT.lastIndex = end + 1;
  }
  return found;
}

const BARE_TEXT = /(?:\bq|%)([qwxQW]?)\s?([^\w\s=,;)%])/g;
const CLOSING: ReadonlyMap<string, string> = new Map([["(", ")"], ["{", "}"], ["[", "]"], [
  "<",
  ">",
]]);

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
