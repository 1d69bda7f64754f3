import type { SimpleCommand } from "../model.ts";
import { type Inner, type ReadFile, shellInput, shellText, type Unwrapper } from "./inner.ts";
import { factsOf } from "../programs/families.ts";
import { optionValues } from "../programs/arguments.ts";
import { unwrapInterpreter } from "../code/unwrap_code.ts";
import { innerCommand, type Wrapper } from "../programs/wrapper.ts";
import { wrappersOf } from "../programs/wrappers.ts";

const UNWRAPPERS = factsOf("unwrap");
const INTERPRETERS = factsOf("interpreter");

/** How the commands of a program are unwrapped. */
export function unwrapperOf(name: string): Unwrapper {
  const own = UNWRAPPERS.get(name);
  if (own !== undefined) return own;
  const language = withoutVersion(name);
  const interpreter = INTERPRETERS.get(language);
  if (interpreter !== undefined) {
    return (command, readFile) => unwrapInterpreter(command, language, interpreter, readFile);
  }
  const wrappers = wrappersOf(name);
  return (command, readFile) => unwrapOrdinary(command, wrappers, readFile);
}

/** `python3.12` is `python`. */
function withoutVersion(name: string): string {
  let end = name.length;
  while (end > 0 && "0123456789.-".includes(name[end - 1] ?? "")) end--;
  return name.slice(0, end);
}

function unwrapOrdinary(
  command: SimpleCommand,
  wrappers: readonly Wrapper[],
  readFile: ReadFile,
): readonly Inner[] | null {
  const inner: Inner[] = [];
  const texts = shellTexts(command, readFile);
  const codes = CODES.get(command.name)?.(command, readFile) ?? null;
  const may = wrappers.length > 0 || texts !== null || codes !== null ||
    ENTRYPOINTS.has(command.name) || opensShell(command);
  if (!may) return null;
  for (const wrapper of wrappers) {
    const found = innerCommand(wrapper, command.args);
    if (found === null) continue;
    if (wrapper.mode === "shell") inner.push(shellText(found.argv.join(" ")));
    else if (wrapper.mode === "keys") inner.push(shellText(typedLines(found.argv)));
    else inner.push({ kind: "argv", ...found });
  }
  if (texts !== null) { for (const text of texts) inner.push(shellText(text)); }
  if (codes !== null) inner.push(...codes);
  inner.push(...entrypoint(command, inner));
  return inner.length === 0 && opensShell(command) ? shellInput(command) : inner;
}

/** The command lines in the options of a program; null for a program that takes none. */
function shellTexts(command: SimpleCommand, readFile: ReadFile): readonly string[] | null {
  const runs = RUNS.get(command.name);
  if (runs === undefined) return null;
  return typeof runs === "function" ? runs(command, readFile) : optionValues(command, ...runs);
}

const RUNS = factsOf("runs");
const CODES = factsOf("codes");

/** The text that these keys type into a terminal: `Enter`, `C-m` and `^M` end a line. */
function typedLines(keys: readonly string[]): string {
  return keys.map((key) => ENTER.test(key) ? "\n" : key.replaceAll(/\^M|\\(?:r|n|015|012)/g, "\n"))
    .join(" ");
}

const ENTER = /^(?:k?enter|kpenter|c-[mj])$/i;

/** Whether a program without a command starts a shell, here or remotely, that runs its standard input. */
function opensShell(command: SimpleCommand): boolean {
  return OPENS_SHELL.get(command.name)?.(command) ?? false;
}

const OPENS_SHELL = factsOf("opensShell");
const ENTRYPOINTS = factsOf("entrypoints");

/** An entrypoint runs with the arguments behind the image. */
function entrypoint(command: SimpleCommand, found: readonly Inner[]): Inner[] {
  const first = found.find((inner) => inner.kind === "argv");
  const programs = ENTRYPOINTS.get(command.name)?.(command) ?? [];
  return programs.map((program) => ({ kind: "argv", argv: [program, ...first?.argv ?? []] }));
}
