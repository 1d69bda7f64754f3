import { type ReadFile, STDIN_PATHS } from "../interpreter/inner.ts";
import { type Flow, known, mergeFlows, NOTHING, type SimpleCommand, textFlow } from "../model.ts";
import { operands } from "./arguments.ts";
import { namedFile } from "./bulk.ts";
import type { Printer } from "./family.ts";

/** A flow of the same origin, of which the text is unknown. */
export const opaque = (flow: Flow): Flow => ({ ...flow, text: null });

/** The flow that a decoder makes of another one. */
export function decode(flow: Flow, by: (text: string) => string): Flow {
  return flow.text === null
    ? { ...flow, decoded: true }
    : { ...flow, text: by(flow.text).replaceAll("\0", ""), decoded: true };
}

/** The flow of a text that a command writes; null stands for an unknown text. */
export const writtenFlow = (text: string | null): Flow => text === null ? NOTHING : textFlow(text);

/** They print nothing, or nothing that matters later. */
export const printsNothing: Printer = () => known("");

/** They pass their input on as it is. */
export const passesInput: Printer = (_command, incoming) => incoming;

/** They print the one name that they are asked for; a text is unknown where there are several. */
export const printsOperand: Printer = (command) => {
  const words = operands(command);
  return writtenFlow(words.length > 1 ? null : `${words[0] ?? ""}\n`);
};

/** Without operands they print every variable, tokens included. */
export const printsVariables: Printer = (command, incoming) =>
  operands(command).length === 0 ? { ...opaque(incoming), secret: true } : null;

/** They print settings that a shell is meant to evaluate: `eval "$(ssh-agent -s)"`. */
export const printsSettings: Printer = ({ args }) =>
  args.some((arg) => SETTINGS_WORDS.has(arg)) ? known("") : null;

const SETTINGS_WORDS = new Set([
  "-s",
  "-c",
  "-k",
  "shellenv",
  "hook",
  "init",
  "-",
  "env",
  "docker-env",
  "completion",
  "activate",
  "--eval",
  "completions",
  "shell.bash",
  "hook.bash",
  "-b",
]);

/** They copy what they read; `change` answers the copied part of the text, or null if it is unknown. */
export const copies = (
  change: (command: SimpleCommand, text: string) => string | null,
  files = namedFiles,
): Printer =>
(command, incoming, readFile) => {
  const flow = readFiles(files(command), incoming, readFile);
  return flow.text === null ? flow : { ...flow, text: change(command, flow.text) };
};

/** They copy what they read as it is. */
export const copiesAll: Printer = copies((_command, text) => text);

/** What a command reads: the files that it names, or its input. */
export function readAll(command: SimpleCommand, incoming: Flow, readFile: ReadFile): Flow {
  return readFiles(namedFiles(command), incoming, readFile);
}

function namedFiles(command: SimpleCommand): readonly string[] {
  return operands(command, COUNTS).filter((path) => !path.startsWith("+"));
}

function readFiles(paths: readonly string[], incoming: Flow, readFile: ReadFile): Flow {
  if (paths.every((path) => STDIN_PATHS.has(path))) return incoming;
  return mergeFlows(
    paths.map((path) => STDIN_PATHS.has(path) ? incoming : readFile(path) ?? namedFile(path)),
  );
}

const COUNTS = new Set(["-n", "-c", "--lines", "--bytes", "-w", "--wrap", "-k", "-t", "-l", "-s"]);
