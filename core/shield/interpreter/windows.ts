import { quoteWord } from "./inner.ts";
import { parseShell } from "./parse.ts";
import { fork, type Scope } from "./scope.ts";
import { walkText } from "./text.ts";

/** Programs that only Windows has. */
const PROGRAMS =
  "bcdedit|cmdkey|del|deltree|dir|diskpart|erase|findstr|icacls|powershell|pwsh|rd|robocopy|schtasks|takeown|taskkill|vssadmin|wbadmin|wevtutil|xcopy";

/** Where a line starts such a program or a cmdlet. */
const STARTS = new RegExp(
  String
    .raw`(?:^|[|;&({])[ \t]*(?:[A-Z][a-z]+-[A-Z][A-Za-z]+|(?:${PROGRAMS})(?:\.exe)?|type[ \t]+[A-Za-z]:\S*|\.\\\w[\w.\\-]*)(?=[ \t]|$)`,
);
/** Without any of these, both readings are one. */
const MARKS = ["-", "\\", "^"];
const CMDLET = /^[ \t]*[A-Z][a-z]+-[A-Z][A-Za-z]+(?=[ \t]|$)/;

/** A backslash between the names of a path: `C:\Users\*`, `$env:TEMP\x`. */
const BETWEEN_NAMES = /(?<=[\w:.*%})])\\(?=[\w.*$%{("]|$)/gm;
/** `^&` in the text of `echo`, before a program that no other system has. */
const ESCAPED = new RegExp(String.raw`\^[&|](?=[ \t]*(?:${PROGRAMS})\b)`, "gi");

/** `-WhatIf:$true`: the value of a switch. */
const SWITCH = /:\$(true|false)\b/gi;

/** A function without inner blocks. */
const DEFINITION = /\bfunction[ \t]+([A-Z]\w*-\w+)[ \t]*\{([^{}]*)\}/g;

/**
 * Walks the line that the caller gave. A line with programs of Windows is also read as Windows reads it, where a
 * backslash stands between folders.
 */
export function walkLine(line: string, scope: Scope): void {
  if (!MARKS.some((mark) => line.includes(mark)) || !STARTS.test(line)) {
    walkText(line, scope, null);
    return;
  }
  const text = withoutUncalled(line.replaceAll(ESCAPED, "  "));
  const slashed = text.replaceAll(BETWEEN_NAMES, "/").replaceAll(SWITCH, ":$1");
  const isForeign = isOfCmdlets(text);
  if (!isForeign) walkText(text, fork(scope), null);
  if (!isForeign && slashed === text) return;
  if (isReadable(slashed)) {
    walkText(slashed, scope, null);
    return;
  }
  // What only PowerShell can read is code of PowerShell.
  walkText(`pwsh -c ${quoteWord(text)}`, fork(scope), null);
  const flat = withoutGroups(slashed);
  if (isReadable(flat)) walkText(flat, scope, null);
}

/** A command whose arguments are values that other commands compute: `Restart-Computer (gc names.txt)`. */
function withoutGroups(text: string): string {
  let flat = text;
  for (let level = 0; level < GROUPS_MAX && flat.includes("("); level++) {
    flat = flat.replaceAll(/\([^()]*\)/g, "$computed");
  }
  return flat;
}

const GROUPS_MAX = 3;

/** Whether another shell finds no program in a line that it knows: each command is a cmdlet. */
function isOfCmdlets(text: string): boolean {
  return !/[<>`]|\$\(/.test(text) &&
    text.split(/[;|&\n]/).every((piece) => piece.trim() === "" || CMDLET.test(piece));
}

const isReadable = (text: string): boolean => (parseShell(text).errors?.length ?? 0) === 0;

/** Leaves out functions that only call cmdlets, and that the line never calls. */
function withoutUncalled(text: string): string {
  return text.replaceAll(DEFINITION, (whole, name: string, body: string) => {
    const isCalled = text.split(name).length > 2;
    const pieces = body.split(/[;|&\n]/).filter((piece) => piece.trim() !== "");
    return isCalled || /\$\(|`/.test(body) || !pieces.every((piece) => CMDLET.test(piece))
      ? whole
      : " ".repeat(whole.length);
  });
}
