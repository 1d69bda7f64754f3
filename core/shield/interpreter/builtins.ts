import { hasFlag, operands, optionValues } from "../programs/arguments.ts";
import { spend } from "./budget.ts";
import { flowText, NOTHING, perhaps, type SimpleCommand, UNKNOWN } from "../model.ts";
import { computeOutput } from "../programs/output.ts";
import { followLinks } from "./links.ts";
import { MAX_FOLDER_CHARS } from "./limits.ts";
import { locate } from "../programs/paths.ts";
import { assign, folderOf, makeLocal, type Scope } from "./scope.ts";

/** The variables that a command sets for itself, or for the commands after it. */
export function assignmentsOf(command: SimpleCommand): Iterable<readonly [string, string]> {
  if (!EXPORTERS.has(command.name)) return command.assignments;
  return command.args.filter((arg) => arg.includes("=")).map((arg) => {
    const at = arg.indexOf("=");
    return [arg.slice(0, at), arg.slice(at + 1)] as const;
  });
}

const EXPORTERS = new Set(["export", "declare", "typeset", "local", "readonly"]);

/** Builtins that compute the subscripts in their arguments. */
export const EVALUATORS = new Set(
  "[ declare export let local mapfile printf read readarray readonly test typeset unset wait".split(
    " ",
  ),
);

/** Builtins that change what later words expand to. */
export function updateScope(command: SimpleCommand, scope: Scope): void {
  switch (command.name) {
    case "read":
      readLine(command, scope);
      return;
    case "mapfile":
    case "readarray":
      assignAny(
        namesIn(command.args, MAPFILE_VALUE)[0] ?? "MAPFILE",
        perhaps(inputOf(command, scope)),
        scope,
      );
      return;
    case "getopts":
      for (const name of [command.args[1] ?? "", "OPTARG", "OPTIND"]) assign(scope, name, UNKNOWN);
      return;
    case "unset":
      for (const name of operands(command)) {
        assignAny(name, "", scope);
        scope.functions.doubt(name);
      }
      return;
    case "printf":
      for (const name of optionValues(command, "-v")) {
        assignAny(name, computeOutput(command, () => null).text ?? UNKNOWN, scope);
      }
      return;
    case "set":
      if (hasFlag(command, "C") || command.args.includes("noclobber")) {
        scope.shell.keepsFiles = true;
      }
      setArguments(command.args, scope);
      return;
    case "shift":
      shiftArguments(command.args[0] ?? "1", scope);
      return;
    case "export":
    case "declare":
    case "local":
    case "typeset":
    case "readonly":
      declareNames(command, scope);
      return;
    case "cd":
    case "chdir":
    case "pushd":
    case "popd":
      moveTo(command.name === "popd" ? UNKNOWN : folderNamed(command), scope);
      return;
    case "return":
    case "break":
    case "continue":
    case "exit":
      scope.shell.hasLeft = true;
  }
}

/** `declare`, `export` and the like: sets names, exports them or stops that, or makes them local without a value. */
function declareNames(command: SimpleCommand, scope: Scope): void {
  const withdrawn = command.name === "export" ? hasFlag(command, "n") : command.args.includes("+x");
  const exported = command.name === "export" || hasFlag(command, "x");
  const declares = DECLARERS.has(command.name);
  const isLocal = declares && scope.locals !== null && !hasFlag(command, "g");
  // `declare -n a=b`: `$a` is then what `$b` will be; -i, -l and -u compute another value.
  const computed = declares && hasFlag(command, "nilu");
  const isFunctions = hasFlag(command, "f");
  for (const arg of operands(command)) {
    if (isFunctions) {
      if (exported) scope.functions.export(arg);
      continue;
    }
    const equals = arg.indexOf("=");
    const target = equals < 0 ? arg : arg.slice(0, equals);
    const name = nameOf(target);
    if (isLocal) makeLocal(scope, name);
    if (equals >= 0) {
      const value = arg.slice(equals + 1);
      assignAny(target, computed ? perhaps(value) : value, scope);
    } else if (isLocal) scope.values.doubt(name);
    if (withdrawn) scope.values.doubt(name);
    else if (exported) scope.values.export(name);
  }
}

const DECLARERS = new Set(["declare", "typeset", "local"]);

const nameOf = (target: string): string => /^\w*/.exec(target)?.[0] ?? "";

/** Sets what a builtin names in its arguments: `name`, `name[1]` or `name+`. */
function assignAny(target: string, value: string, scope: Scope): void {
  const name = nameOf(target);
  if (name === target) assign(scope, name, value);
  else assign(scope, name, perhaps(`${scope.values.get(name) ?? ""} ${value}`));
}

function inputOf({ stdin }: SimpleCommand, scope: Scope): string {
  const text = flowText(stdin ?? NOTHING);
  spend(scope.inspection.budget, text.length);
  return text.trim();
}

/** `read a b`: one line splits into words; which one of several lines is read is unknown. */
function readLine(command: SimpleCommand, scope: Scope): void {
  const input = inputOf(command, scope);
  const names = namesIn(command.args, READ_VALUE);
  const last = Math.max(0, names.length - 1);
  const words = input.split(/[ \t]+/);
  const separators = command.assignments.get("IFS") ?? scope.values.get("IFS");
  const plain = !input.includes("\n") && !hasFlag(command, "adnNu") &&
    (separators === undefined || (separators === "" && last === 0)) &&
    (hasFlag(command, "r") || !input.includes("\\"));
  for (const [i, name] of (names.length === 0 ? ["REPLY"] : names).entries()) {
    const own = last === 0 ? input : i < last ? words[i] ?? "" : words.slice(i).join(" ");
    assignAny(name, plain ? own : perhaps(input), scope);
  }
  for (const name of optionValues(command, "-a")) assignAny(name, perhaps(input), scope);
}

/** The arguments that are no options; `valued` is an option whose next argument is its value. */
function namesIn(args: readonly string[], valued: RegExp): string[] {
  return args.filter((arg, i) => !arg.startsWith("-") && !valued.test(args[i - 1] ?? ""));
}

const READ_VALUE = /^-[^-pdnNtuia]*[pdnNtuia]$/;
const MAPFILE_VALUE = /^-[^-dnOsuCc]*[dnOsuCc]$/;

/** `set -e -- a b`: the operands become the arguments. */
function setArguments(args: readonly string[], scope: Scope): void {
  let from = 0;
  while (/^[-+]./.test(args[from] ?? "") && args[from] !== "--") {
    from += args[from]?.endsWith("o") ? 2 : 1;
  }
  const given = args[from] === "--" || args[from] === "-";
  if (!given && from >= args.length) return;
  const words = args.slice(given ? from + 1 : from);
  const { positional } = scope;
  positional.sure = !words.includes(UNKNOWN);
  positional.words = words;
}

function shiftArguments(count: string, scope: Scope): void {
  const { positional } = scope;
  const { words } = positional;
  if (words === null) return;
  if (!/^\d$/.test(count) || Number(count) > words.length) {
    positional.sure = false;
  } else positional.words = words.slice(Number(count));
}

/** The folder that `cd` and `pushd` name; UNKNOWN for one of a list, or the one before. */
function folderNamed(command: SimpleCommand): string {
  const [named] = operands(command);
  if (named === undefined) return command.name === "pushd" ? UNKNOWN : "~";
  return named === "-" || named.startsWith("+") ? UNKNOWN : named;
}

function moveTo(folder: string, scope: Scope): void {
  assign(scope, "OLDPWD", folderOf(scope));
  const path = followLinks(scope, folder, true);
  const target = path.startsWith(UNKNOWN) ? path : locate(folderOf(scope), path);
  scope.shell.folder = target.length > MAX_FOLDER_CHARS ? UNKNOWN : target;
  assign(scope, "PWD", folderOf(scope));
}

/** Builtins that set variables, run code in their arguments or move to another folder. */
export const BUILTINS: ReadonlySet<string> = new Set([
  ...EXPORTERS,
  ...EVALUATORS,
  ..."cd chdir pushd popd getopts set shift return break continue exit".split(" "),
]);
