import { once, type SimpleCommand } from "../model.ts";

/** What a sed script runs: lines of shell, and whether it also runs what it makes of its input. */
export interface SedScan {
  readonly texts: readonly string[];
  readonly runsInput: boolean;
  /** The files that it writes: `w file`, `s/a/b/w file`. */
  readonly files: readonly string[];
}

/** The scan of a command's script, made once. */
export function sedScanOf(command: SimpleCommand, script: string): SedScan {
  return once(command, newScans).getOrInsertComputed(script, scanSed);
}

const newScans = (): Map<string, SedScan> => new Map();

/** Reads a script command by command, for GNU sed's `e` and for the flag `e` of `s`. */
function scanSed(script: string): SedScan {
  const texts: string[] = [];
  const files: string[] = [];
  let runsInput = false;
  for (let i = 0; i < script.length;) {
    const c = script[i] ?? "";
    if (c === "/" || c === "\\") {
      i = skipPattern(script, c === "/" ? i + 1 : i + 2, c === "/" ? c : script[i + 1] ?? "");
    } else if (c === "e") {
      const end = lineEnd(script, i);
      const text = script.slice(i + 1, end).trim();
      if (text === "" || text === "}" || text.startsWith(";")) {
        runsInput = true;
        i++;
      } else {
        texts.push(text);
        i = end;
      }
    } else if (c === "s" || c === "y") {
      const mark = script[i + 1] ?? "";
      const middle = c === "s" ? skipPattern(script, i + 2, mark) : skipPart(script, i + 2, mark);
      i = skipPart(script, middle, mark);
      const replacement = script.slice(middle, i - 1);
      for (; c === "s" && FLAGS.includes(script[i] ?? " "); i++) {
        if (script[i] !== "e") continue;
        runsInput = true;
        texts.push(replacement.replaceAll("\\", ""));
      }
      if (c === "s" && script[i] === "w") {
        const end = lineEnd(script, i);
        files.push(script.slice(i + 1, end).trim());
        i = end;
      }
    } else if (TAKES_LINE.includes(c)) {
      const end = lineEnd(script, i);
      if (c === "w" || c === "W") files.push(script.slice(i + 1, end).trim());
      i = end;
    } else if (TAKES_LABEL.includes(c)) {
      while (i < script.length && !";\n".includes(script[i] ?? "")) i++;
    } else i++;
  }
  return { texts: [...new Set(texts)], runsInput, files };
}

const FLAGS = "0123456789gpeImM";
/** Text, files and comments go to the end of their line. */
const TAKES_LINE = "aicrRwW#";
const TAKES_LABEL = "btTv:";

/** The offset after the mark that ends this part; a mark behind a backslash ends nothing. */
function skipPart(script: string, from: number, mark: string): number {
  for (let i = from; i < script.length; i++) {
    if (script[i] === "\\") i++;
    else if (script[i] === mark) return i + 1;
  }
  return script.length + 1;
}

/** As `skipPart`, and a mark in square brackets ends nothing either. */
function skipPattern(script: string, from: number, mark: string): number {
  let closing = from;
  for (let i = from; i < script.length; i++) {
    const c = script[i];
    if (c === "\\") i++;
    else if (c === mark) return i + 1;
    else if (c === "[") {
      if (closing < i) closing = script.indexOf("]", i);
      if (closing < 0) closing = script.length + BRACKETS_MAX;
      BRACKETS.lastIndex = i;
      if (closing - i <= BRACKETS_MAX && BRACKETS.test(script)) i = BRACKETS.lastIndex - 1;
    }
  }
  return script.length + 1;
}

const BRACKETS = /\[\^?\]?[^\]\n]{0,24}\]/y;
/** The first `]` stands no further behind the bracket that opens: without this test, open brackets take ten times as long. */
const BRACKETS_MAX = "[^".length + 24;

/** The end of a line; one that ends with a backslash goes on. */
function lineEnd(script: string, from: number): number {
  let end = script.indexOf("\n", from);
  while (end > 0 && script[end - 1] === "\\") end = script.indexOf("\n", end + 1);
  return end < 0 ? script.length : end;
}
