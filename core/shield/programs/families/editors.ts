import { codeText } from "../../code/unwrap_code.ts";
import { type Inner, type ReadFile, shellText } from "../../interpreter/inner.ts";
import type { SimpleCommand } from "../../model.ts";
import { clusterValues, operands, optionValues } from "../arguments.ts";
import type { Family, Finder } from "../family.ts";
import { copiesAll } from "../flows.ts";
import { bangLines } from "../texts.ts";

/** Commands of an editor, which are code of their own and may run shell text. */
function editorCodes(command: SimpleCommand, readFile: ReadFile): Inner[] {
  return [
    ...optionValues(command, "-c", "--cmd"),
    ...clusterValues(command, "c"),
    ...command.args.filter((arg) => arg.startsWith("+")).map((arg) => arg.slice(1)),
    ...optionValues(command, "-S").map((path) => readFile(path)?.text ?? ""),
  ].flatMap((text) => [
    codeText(text, "vim"),
    ...OPENS_SHELL.test(text) ? [shellText("sh")] : [],
    ...text.split("\n").flatMap((line) => EDITOR_SHELL.exec(line)?.[1] ?? []).map(shellText),
  ]);
}

/** `:!text`, `silent !text`, `exe "!text"`, `terminal text`; `!exists(…)` only denies. */
const EDITOR_SHELL = /(?:(?:^|[\s"':%$|\d])!|^:?ter(?:m(?:inal)?)?\s)(?!=|\s*\w+\()([^"']+|.+)/;

/** `:shell` waits for somebody who types. */
const OPENS_SHELL = /(?:^|[|:\s])sh(?:ell)?!?\s*$/;

/** The file that an editor changes by the commands that it is given. */
const edited: Finder = (command) => {
  const texts = [
    ...optionValues(command, "-c", "--cmd"),
    ...clusterValues(command, "c"),
    ...command.args.filter((arg) => arg.startsWith("+")),
  ];
  const isTold = command.stdin !== null || texts.some((text) => SAVES.test(text));
  const saved = texts.flatMap((text) => SAVES_AS.exec(text)?.[1] ?? []);
  return isTold ? [...saved, ...operands(command).slice(-1)] : saved;
};

/** `wq! /etc/x`. */
const SAVES_AS = /(?:^|[|:+\s])(?:w|wq|x|sav|saveas)!?\s+([/~.][^\s|]*)/;

const SAVES = /(?:^|[|:+\s])(?:w|wq|wqa|x|xa|update|up)!?\s*$/;

/** Editors and pagers. */
export const EDITORS: readonly Family[] = [
  {
    names: ["gvim", "nvim", "rvim", "vi", "vim"],
    codes: editorCodes,
    reads: "shown",
    scripted: true,
  },
  { names: ["rview", "view"], codes: editorCodes, reads: "shown" },
  { names: ["ex"], runs: bangLines, codes: editorCodes, scripted: true },
  { names: ["ed", "ex"], writes: edited },
  { names: ["gvim", "nvim", "rvim", "vi", "vim"], writes: edited },
  { names: ["ed"], runs: bangLines, scripted: true },
  {
    names: ["less", "more"],
    runs: bangLines,
    codes: editorCodes,
    reads: "shown",
    prints: copiesAll,
  },
  { names: ["most"], runs: bangLines, codes: editorCodes },
  { names: ["man"], runs: ["-P", "--pager", "-H", "--html"] },
  { names: ["nano"], reads: "shown" },
];
