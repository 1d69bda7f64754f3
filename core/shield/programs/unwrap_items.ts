import { BudgetSpent, fullBudget } from "../interpreter/budget.ts";
import { hasFlag, operands, optionValues } from "./arguments.ts";
import { isWholeFolder } from "./bulk.ts";
import { decodeEscapes } from "../code/decode.ts";
import { matchesGlob } from "../interpreter/glob.ts";
import { MAX_EXPANDED_CHARS } from "../interpreter/limits.ts";
import { flowText, newCommand, NOTHING, type SimpleCommand, UNKNOWN } from "../model.ts";
import { type Inner, quoteWord, shellText } from "../interpreter/inner.ts";
import { locate } from "./paths.ts";
import { mayBe, stateBelow } from "./state_places.ts";
import { innerOf } from "./wrappers.ts";

/** `… | xargs program`: what comes in becomes arguments. */
export function unwrapXargs(command: SimpleCommand): Inner[] {
  const found = innerOf("xargs", command.args);
  if (found === null) return [];
  // `-i` behind the program is the program's own: `xargs sed -i`.
  const own = newCommand({ ...command, args: command.args.slice(0, -found.argv.length) });
  const placeholder = optionValues(own, "-I", "--replace", "-J")[0] ??
    (own.args.some((arg) => arg === "-i" || arg === "--replace") ? "{}" : null);
  const flow = command.stdin ?? NOTHING;
  const incoming = flow.paths ??
    (flow.text === null ? [flowText(flow)] : splitItems(flow.text, command));
  if (placeholder === null || placeholder === "") {
    return [{ kind: "argv", argv: [...found.argv, ...incoming] }];
  }
  const whole = flow.paths !== undefined || flow.text === null
    ? incoming
    : flow.text.split("\n").filter((line) => line.trim() !== "");
  checkFilling(found.argv.join(" "), placeholder, whole);
  return whole.map((item) => ({
    kind: "argv",
    argv: found.argv.map((arg) => arg.replaceAll(placeholder, () => item)),
  }));
}

/** The most items that one command is given, or run for. */
const MAX_ITEMS = 1_024;

/** @throws {BudgetSpent} */
function checkCount(items: readonly string[]): readonly string[] {
  if (items.length > MAX_ITEMS) throw new BudgetSpent();
  return items;
}

/** Counts what a template grows to when it is filled with each item. @throws {BudgetSpent} */
function checkFilling(template: string, placeholder: string, items: readonly string[]): void {
  checkCount(items);
  const places = template.split(placeholder).length - 1;
  const chars = items.reduce((sum, item) => sum + template.length + places * item.length, 0);
  if (chars > MAX_EXPANDED_CHARS) throw new BudgetSpent();
}

/** The items that xargs makes of its input: pieces between a given delimiter, or words. */
function splitItems(text: string, command: SimpleCommand): readonly string[] {
  // NUL marks an unknown part here, so a text with NUL between its items counts as one item.
  if (hasFlag(command, "0", "null")) return [text];
  const delimiter = optionValues(command, "-d", "--delimiter")[0];
  if (delimiter === undefined || delimiter === "") return splitInput(text);
  return checkCount(text.split(decodeEscapes(delimiter)).filter((item) => item !== ""));
}

/** Words that xargs would make of its input; quotes only group. */
function splitInput(text: string): readonly string[] {
  const words: string[] = [];
  for (
    const word of text.replaceAll("'", "").replaceAll('"', "").split("\n").join(" ").split("\t")
      .join(" ").split(" ")
  ) {
    if (word !== "") words.push(word);
  }
  return checkCount(words);
}

const FIND_NARROWERS = new Set([
  "-name",
  "-iname",
  "-path",
  "-ipath",
  "-wholename",
  "-regex",
  "-iregex",
  "-size",
  "-mtime",
  "-atime",
  "-ctime",
  "-mmin",
  "-amin",
  "-cmin",
  "-newer",
  "-user",
  "-group",
  "-perm",
  "-empty",
  "-links",
  "-inum",
  "-samefile",
  "-lname",
  "-nouser",
  "-nogroup",
  "-newermt",
  "-used",
]);

/** The starting points of find, and the name it looks for: null for any name, UNKNOWN for another condition. */
export function findScope(command: SimpleCommand): { starts: string[]; narrowed: string | null } {
  const starts: string[] = [];
  let narrowed: string | null = null;
  let expression = false;
  for (const [i, arg] of command.args.entries()) {
    if (arg.startsWith("-") && arg.length > 2 || arg === "(" || arg === "!") expression = true;
    if (!expression && !arg.startsWith("-")) starts.push(arg);
    if (!FIND_NARROWERS.has(arg)) continue;
    const value = command.args[i + 1] ?? UNKNOWN;
    narrowed = (arg === "-name" || arg === "-iname") && value !== "*"
      ? value
      : narrowed ?? (value === "*" ? null : UNKNOWN);
  }
  return { starts: starts.length === 0 ? ["."] : starts, narrowed };
}

/** The paths that find finds: a name below its start, or everything there without a condition. */
export function foundPaths(command: SimpleCommand): string[] {
  const { starts, narrowed } = findScope(command);
  if (optionValues(command, "-maxdepth").includes("0")) return starts;
  return starts.map((start) =>
    narrowed === UNKNOWN ? foundBelow(command, start) : `${start}/${narrowed ?? "*"}`
  );
}

/** A search for more names, or in more folders, counts as one for any name. */
const MAX_PATTERNS = 32;

/** The state of an agent that find may find, as paths. */
export function foundState(command: SimpleCommand): string[] {
  const names = optionValues(command, "-name", "-iname");
  const paths = optionValues(command, "-path", "-ipath", "-wholename", "-iwholename");
  const { starts } = findScope(command);
  const patterns = names.length + paths.length;
  const isNamed = patterns > 0 && patterns + starts.length <= MAX_PATTERNS &&
    !command.args.some((arg) => arg === "!" || arg === "-not");
  const maxDepth = Number(optionValues(command, "-maxdepth")[0] ?? Infinity);
  const mayFind = (name: string, path: string, depth: number) =>
    depth <= maxDepth && (!isNamed || names.some((one) => mayBe(one.toLowerCase(), name)) ||
      paths.some((one) => matchesGlob(one.toLowerCase(), path, fullBudget())));
  return starts.flatMap((start) => stateBelow(locate(command.cwd, start), mayFind, isNamed));
}

/** In a system folder, anything that may be found counts; the content of other folders is unknown. */
function foundBelow(command: SimpleCommand, start: string): string {
  return `${start}/${isWholeFolder(command, start) ? "*" : UNKNOWN}`;
}

/** `find … -exec program {} ;`. */
export function unwrapFind(command: SimpleCommand): Inner[] {
  const { args } = command;
  const targets = foundPaths(command);
  const state = foundState(command);
  const actions = args.flatMap((arg, at) => FIND_ACTIONS.has(arg) ? [actionAt(args, at + 1)] : []);
  checkFilling(actions.flat().join(" "), "{}", targets);
  return actions.flatMap((words) =>
    (state.length === 0 ? [targets] : [targets, state]).map((paths): Inner => ({
      kind: "argv",
      argv: fill(words, paths),
    }))
  );
}

/** The words of an action, up to the next action: each word belongs to one. */
function actionAt(args: readonly string[], from: number): readonly string[] {
  let end = from;
  while (
    end < args.length && args[end] !== ";" && !(args[end] === "+" && args[end - 1] === "{}") &&
    !FIND_ACTIONS.has(args[end]!)
  ) end++;
  return args.slice(from, end);
}

const FIND_ACTIONS = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

/** The words of a program, with what was found in the place of `{}`. */
function fill(words: readonly string[], targets: readonly string[]): string[] {
  return words.flatMap((word) =>
    word === "{}" ? targets : word.replaceAll("{}", () => targets[0] ?? UNKNOWN)
  );
}

export function unwrapFd(command: SimpleCommand): Inner[] {
  const at = command.args.findIndex((arg) =>
    arg === "-x" || arg === "-X" || arg === "--exec" || arg === "--exec-batch"
  );
  if (at < 0) return [];
  const own = newCommand({ ...command, args: command.args.slice(0, at) });
  const [pattern = "", ...starts] = operands(own, FD_VALUED);
  const targets = (starts.length === 0 ? ["."] : starts).map((start) => foundBelow(command, start));
  const program = command.args.slice(at + 1);
  checkFilling(program.join(" "), "{}", targets);
  const filled = (paths: readonly string[]): Inner => ({
    kind: "argv",
    argv: [
      ...fill(program, paths),
      ...program.some((word) => word.includes("{")) ? [] : paths,
    ],
  });
  const state = foundByFd(own, pattern, starts);
  return state.length === 0 ? [filled(targets)] : [filled(targets), filled(state)];
}

/** The state of an agent that fd may find: its pattern is a part of a name, unless it is an expression. */
function foundByFd(command: SimpleCommand, pattern: string, starts: readonly string[]): string[] {
  const endings = optionValues(command, "-e", "--extension").map((ending) => `.${ending}`);
  const isPart = /^[\w-]+$/.test(pattern);
  const folders = starts.length === 0 ? ["."] : starts;
  const isWide = endings.length === 0 || endings.length + folders.length > MAX_PATTERNS;
  return folders.flatMap((start) =>
    stateBelow(
      locate(command.cwd, start),
      (name) =>
        (!isPart || name.includes(pattern)) &&
        (isWide || endings.some((ending) => name.endsWith(ending))),
      isPart,
    )
  );
}

/** Options of fd whose value is the next word. */
const FD_VALUED = new Set([
  "-t",
  "--type",
  "-e",
  "--extension",
  "-d",
  "--max-depth",
  "-E",
  "--exclude",
  "-S",
  "--size",
  "-o",
  "--owner",
  "-j",
  "--threads",
]);

/** `forfiles /p folder /c "cmd /c del @path"`: it runs for each file of the folder. */
export function unwrapForFiles({ args }: SimpleCommand): Inner[] {
  const options = args.map((arg) => arg.toLowerCase());
  if (!options.includes("/c")) return [];
  const program = args[options.indexOf("/c") + 1] ?? "";
  const folder = options.includes("/p") ? args[options.indexOf("/p") + 1] ?? "" : ".";
  const file = `${folder.replaceAll("\\", "/")}/*`;
  checkFilling(program, "@", [file]);
  return [shellText(program.replaceAll(/@(?:path|file|fname|relpath)/gi, () => file))];
}

/** `parallel program ::: a b`: arguments or lines of input fill `{}`. */
export function unwrapParallel(command: SimpleCommand): Inner[] {
  const marks = command.args.findIndex((arg) => arg.startsWith(":::"));
  const front = marks < 0 ? command.args : command.args.slice(0, marks);
  const given = marks < 0
    ? []
    : command.args.slice(marks + 1).filter((arg) => !arg.startsWith(":::"));
  const found = innerOf("parallel", front);
  const flow = command.stdin;
  const lines = marks >= 0
    ? given
    : flow === null
    ? []
    : flow.text === null
    ? [flowText(flow)]
    : flow.text.split("\n").filter((line) => line !== "");
  const template = found?.argv.join(" ") ?? "";
  if (lines.length === 0) return template === "" ? [] : [shellText(template)];
  const filled = template.includes("{}") ? template : `${template} {}`;
  checkFilling(filled, "{}", lines);
  return lines.flatMap((line) => {
    if (template === "") return [shellText(line)];
    // It quotes what it fills in, which is one word for `sh -c`; in quotes of the template it is several.
    const forms = line.includes(" ") ? [line, quoteWord(line)] : [line];
    return forms.map((word) => shellText(filled.replaceAll("{}", () => word)));
  });
}

/** How many arguments follow an option of bwrap; the others take none. */
const NEW_ROOT_VALUES: ReadonlyMap<string, number> = new Map([
  ...["bind", "bind-try", "dev-bind", "dev-bind-try", "ro-bind", "ro-bind-try", "symlink", "setenv"]
    .map((name) => [`--${name}`, 2] as const),
  ...[
    "dev",
    "proc",
    "tmpfs",
    "dir",
    "chdir",
    "unsetenv",
    "uid",
    "gid",
    "hostname",
    "mqueue",
    "args",
  ]
    .map((name) => [`--${name}`, 1] as const),
]);

/** `bwrap --ro-bind / / --dev /dev program`. */
export function unwrapNewRoot({ args }: SimpleCommand): Inner[] {
  let at = 0;
  while (args[at]?.startsWith("--")) {
    if (args[at] === "--") {
      at++;
      break;
    }
    at += 1 + (NEW_ROOT_VALUES.get(args[at] ?? "") ?? 0);
  }
  const argv = args.slice(at);
  return argv.length === 0 ? [] : [{ kind: "argv", argv }];
}
