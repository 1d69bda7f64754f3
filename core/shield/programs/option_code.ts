import { clusterValues, hasFlag, operands, optionValues } from "./arguments.ts";
import type { SimpleCommand } from "../model.ts";
import { quoteWord, type ReadFile } from "../interpreter/inner.ts";
import { debuggerTexts } from "../code/unwrap_code.ts";
import { factsOf } from "./families.ts";
import { afterFirst, afterOption, bangLines } from "./texts.ts";

/** Options of ordinary programs whose value is a command line. */
const OPTIONS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    "vagrant toolbox chokidar": "-c --command",
    "gcloud doppler az": "--command --scripts",
    "fly flyctl": "-C --command",
    "ansible": "-a --args",
    "npx": "-c --call",
    "go": "-toolexec -exec -vettool",
    "man": "-P --pager -H --html",
    "split gsplit": "--filter",
    "sort gsort": "--compress-program",
    "rg": "--pre --hostname-bin",
    "nodemon": "-x --exec",
  }).flatMap(([names, options]) =>
    names.split(" ").map((name) => [name, options.split(" ")] as const)
  ),
);

const RUNS = factsOf("runs");

/** The command lines in the options of ordinary programs; null for programs that have none. */
export function shellOptions(command: SimpleCommand, readFile: ReadFile): string[] | null {
  const runs = RUNS.get(command.name);
  if (runs !== undefined) return [...runs(command, readFile)];
  const options = OPTIONS.get(command.name);
  if (options !== undefined) return optionValues(command, ...options);
  switch (command.name) {
    case "flock":
    case "script":
    case "unbuffer":
      return [...optionValues(command, "-c", "--command"), ...clusterValues(command, "c")];
    case "systemd-run":
      return optionValues(command, "-p", "--property").flatMap((value) =>
        value.startsWith("Exec") ? [afterFirst(value, "=").replace(/^[-@:+!]+/, "")] : []
      );
    case "cmake":
      return [
        afterOption(command, "-E")
          .replace(/^'?remove_directory'?/, "rm -r").replace(/^'?remove'?(?= )/, "rm"),
      ];
    case "hyperfine":
      return [
        ...operands(command, HYPERFINE_VALUED),
        ...optionValues(command, "-p", "--prepare", "-c", "--cleanup", "-s", "--setup"),
      ];
    case "entr":
      return hasFlag(command, "s") ? [operands(command).join(" ")] : [];
    case "less":
    case "more":
    case "most":
    case "ed":
    case "ex":
    case "dc":
      return bangLines(command);
    case "gdb":
    case "lldb":
      return [
        ...debuggerTexts(command),
        ...(command.stdin?.text ?? "").split("\n"),
      ].flatMap((text) => DEBUGGER_SHELL.exec(text)?.[1] ?? [])
        .concat(afterOption(command, "--args"));
    case "concurrently":
      return [...operands(command)];
    case "just":
      return [afterOption(command, "--command", "-c")];
    case "gcc":
    case "g++":
    case "cc":
    case "c++":
      return optionValues(command, "-wrapper").map((value) => value.replaceAll(",", " "));
    case "apt":
    case "apt-get":
    case "aptitude":
      return optionValues(command, "-o", "--option").flatMap((value) =>
        APT_PROGRAMS.test(value) ? [afterFirst(value, "=")] : []
      );
    case "npm":
    case "pnpm":
    case "yarn":
      return [
        ...optionValues(command, "-c", "--call", "--script-shell"),
        // `npm pkg set scripts.build=text`
        ...command.args.flatMap((arg) => arg.startsWith("scripts.") ? [afterFirst(arg, "=")] : []),
      ];
    case "make":
    case "gmake":
      return [
        ...command.args.flatMap(makeVariable),
        ...optionValues(command, "--eval", "-E"),
        ...optionValues(command, "-f", "--file").flatMap((path) =>
          ((path === "-" ? command.stdin : readFile(path))?.text ?? "").split("\n")
        ),
      ].map((line) => line.slice(line.indexOf(":") + 1).replaceAll(";", "\n"));
    case "start-stop-daemon":
      return optionValues(command, "--exec", "-x", "--startas", "-a").map((program) =>
        `${quoteWord(program)} ${afterOption(command, "--")}`
      );
    case "aws":
      return optionValues(command, "--parameters").flatMap((value) =>
        value.startsWith("commands=") ? [trimQuotes(value.slice(9))] : []
      );
    default:
      return null;
  }
}

/** `make X='$(shell text)'`, and the shell that make hands each line to. */
function makeVariable(arg: string): string[] {
  if (arg.startsWith("SHELL=")) return [afterFirst(arg, "=")];
  const at = arg.indexOf("$(shell ");
  return at < 0 ? [] : [arg.slice(at + 8, arg.lastIndexOf(")"))];
}

const APT_PROGRAMS = /^[^=]*(?:-invoke|pre-install-pkgs)/i;

const HYPERFINE_VALUED = new Set(["-w", "--warmup", "-r", "--runs", "-N", "-n", "-L", "-S"]);

const DEBUGGER_SHELL = /^\s*(?:!|(?:platform )?shell\s)(.*)/;

function trimQuotes(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && "[]\"'".includes(text[from] ?? "")) from++;
  while (to > from && "[]\"'".includes(text[to - 1] ?? "")) to--;
  return text.slice(from, to);
}
