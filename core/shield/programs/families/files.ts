import { quoteWord } from "../../interpreter/inner.ts";
import { noteLink } from "../../interpreter/links.ts";
import { readFile, writeFile } from "../../interpreter/scope.ts";
import { type Flow, known, NOTHING, type SimpleCommand } from "../../model.ts";
import { hasFlag, operands, optionValues, wordsOf } from "../arguments.ts";
import type { Family, FileNoter, Finder } from "../family.ts";
import { copies, passesInput, printsNothing } from "../flows.ts";
import { isSecret } from "../secrets.ts";
import { lastOperand, within } from "../texts.ts";

const noteTee: FileNoter = (command, _output, scope) => {
  const appends = hasFlag(command, "a", "append");
  for (const path of wordsOf(command)) {
    writeFile(scope, path, command.stdin ?? NOTHING, appends);
  }
};

const noteDd: FileNoter = (command, output, scope) => {
  for (const path of ddTargets(command)) writeFile(scope, path, output(), false);
};

const ddTargets = ({ args }: SimpleCommand): string[] =>
  args.filter((arg) => arg.startsWith("of=")).map((arg) => arg.slice(3));

const ddSources = ({ args }: SimpleCommand): string[] =>
  args.filter((arg) => arg.startsWith("if=")).map((arg) => arg.slice(3));

const ddText = ({ args }: SimpleCommand, text: string): string | null =>
  args.every((arg) => /^(if|of|status)=/.test(arg)) ? text : null;

/** `cp a b folder`: a copy holds what its source held, whether the last word is a file or a folder. */
const noteCopies: FileNoter = (command, _output, scope) => {
  const files = [...wordsOf(command)];
  // `ln -s file` links into the folder that the line is in.
  if (command.name === "ln" && files.length === 1) files.push(".");
  const target = files.at(-1);
  if (target === undefined || files.length < 2) return;
  const isFolder = /(^|\/)(\.?\.?|~)$/.test(target);
  for (const source of files.slice(0, -1)) {
    const name = source.slice(source.lastIndexOf("/") + 1);
    const paths = [...isFolder ? [] : [target], `${target}/${name}`];
    if (command.name === "ln") { for (const path of paths) noteLink(scope, path, source); }
    const content = readFile(scope, source) ??
      (isSecret(source) ? { ...NOTHING, secret: true } : copiedProgram(source));
    if (content === null) continue;
    for (const path of paths) writeFile(scope, path, content, false);
  }
};

/** A copy of a program runs what the program runs; `$(which rm)` is known by its name. */
function copiedProgram(source: string): Flow | null {
  const isProgram = /^\/(.*\/)?s?bin\/[^/]+$|^[\w-]+$/.test(source);
  return isProgram ? known(`${quoteWord(source)} "$@"`) : null;
}

/** What is copied: all but the target, which stands last or behind `-t`. */
const sources: Finder = (command) => {
  const words = operands(command);
  const hasTarget = hasFlag(command, "t", "target-directory");
  return hasTarget ? words : words.slice(0, -1);
};

/** Where the copies go: the folder behind `-t`, or the last word; `install -d` makes every folder that it names. */
const target: Finder = (command) => {
  const folders = optionValues(command, "-t", "--target-directory");
  if (folders.length > 0) return within(folders);
  const makes = command.name.endsWith("install") && hasFlag(command, "d", "directory");
  return makes ? operands(command) : lastOperand(command);
};

/** Programs that read, copy, edit and write files. */
export const FILES: readonly Family[] = [
  {
    names: ["tee"],
    reads: () => [],
    writes: operands,
    noteFiles: noteTee,
    prints: passesInput,
  },
  { names: ["sponge"], writes: operands, noteFiles: noteTee, prints: passesInput },
  {
    names: ["cp"],
    reads: "shown",
    descends: true,
    readsBelow: (command) =>
      hasFlag(command, "rRa", "recursive", "archive") ? sources(command) : [],
    writes: target,
    noteFiles: noteCopies,
    prints: printsNothing,
  },
  {
    names: ["mv"],
    descends: true,
    readsBelow: sources,
    writes: target,
    noteFiles: noteCopies,
    prints: printsNothing,
  },
  {
    names: ["ginstall", "install", "ln"],
    reads: "shown",
    writes: target,
    noteFiles: noteCopies,
  },
  { names: ["gcp", "gmv"], descends: true },
  {
    names: ["add-content", "clear-content", "out-file", "set-content"],
    writes: (command) => [
      ...optionValues(command, "-Path", "-LiteralPath", "-FilePath"),
      ...operands(command).slice(0, 1),
    ],
  },
  { names: ["chmod", "chown"], descends: true, prints: printsNothing },
  { names: ["mkdir"], looks: true, prints: printsNothing },
  { names: ["rm", "touch"], prints: printsNothing },
  {
    names: ["dd"],
    reads: "shown",
    writes: ddTargets,
    noteFiles: noteDd,
    prints: copies(ddText, ddSources),
  },
  {
    names: ["patch"],
    writes: (command) => [
      ...operands(command).slice(0, 1),
      ...optionValues(command, "-o", "--output"),
      ...within(optionValues(command, "-d", "--directory")),
    ],
  },
  { names: ["date"], reads: (command) => optionValues(command, "-f", "--file") },
  {
    names: ["diff"],
    reads: "shown",
    readsBelow: (command) => hasFlag(command, "r", "recursive") ? operands(command) : [],
  },
];
