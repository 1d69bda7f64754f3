import { fullBudget } from "../../interpreter/budget.ts";
import { matchesGlob } from "../../interpreter/glob.ts";
import { type Inner, shellText } from "../../interpreter/inner.ts";
import { type Flow, LISTED, newCommand, type SimpleCommand, UNKNOWN } from "../../model.ts";
import { operands, optionValues } from "../arguments.ts";
import { isWholeFolder } from "../bulk.ts";
import type { Family } from "../family.ts";
import { checkFilling } from "../filling.ts";
import { locate } from "../paths.ts";
import { mayBe, stateBelow } from "../state_places.ts";

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

/** What a condition leaves out narrows little: `! -name keep`. */
const NEGATIONS = new Set(["!", "-not"]);

/** The starting points of find, and the name it looks for: null for any name, UNKNOWN for another condition. */
export function findScope(command: SimpleCommand): { starts: string[]; narrowed: string | null } {
  const starts: string[] = [];
  let narrowed: string | null = null;
  let expression = false;
  for (const [i, arg] of command.args.entries()) {
    if (arg.startsWith("-") && arg.length > 2 || arg === "(" || arg === "!") expression = true;
    if (!expression && !arg.startsWith("-")) starts.push(arg);
    // What stands behind it does not narrow what is deleted.
    if (arg === "-delete") break;
    if (!FIND_NARROWERS.has(arg) || NEGATIONS.has(command.args[i - 1] ?? "")) continue;
    const value = command.args[i + 1] ?? UNKNOWN;
    narrowed = (arg === "-name" || arg === "-iname") && value !== "*"
      ? value
      : narrowed ?? (value === "*" ? null : UNKNOWN);
  }
  return { starts: starts.length === 0 ? ["."] : starts, narrowed };
}

/** The paths that find finds: a name below its start, or everything there without a condition. */
function foundPaths(command: SimpleCommand): string[] {
  const { starts, narrowed } = findScope(command);
  if (optionValues(command, "-maxdepth").includes("0")) return starts;
  return starts.map((start) =>
    narrowed === UNKNOWN ? foundBelow(command, start) : `${start}/${narrowed ?? "*"}`
  );
}

/** A search for more names, or in more folders, counts as one for any name. */
const MAX_PATTERNS = 32;

/** The state of an agent that find may find, as paths. */
function foundState(command: SimpleCommand): string[] {
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
  return `${start}/${isWholeFolder(command, start) ? "*" : LISTED}`;
}

/** `find … -exec program {} ;`. */
function unwrapFind(command: SimpleCommand): Inner[] {
  const { args } = command;
  const actions = args.flatMap((arg, at) => FIND_ACTIONS.has(arg) ? [actionAt(args, at + 1)] : []);
  const targets = foundPaths(command);
  checkFilling(actions.flat().join(" "), "{}", targets);
  if (actions.length === 0) return [];
  const state = foundState(command);
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

function unwrapFd(command: SimpleCommand): Inner[] {
  const at = command.args.findIndex((arg) =>
    arg === "-x" || arg === "-X" || arg === "--exec" || arg === "--exec-batch"
  );
  if (at < 0) return [];
  const own = newCommand({ ...command, args: command.args.slice(0, at) });
  const [pattern = "", ...starts] = operands(own, FD_VALUED);
  const endings = optionValues(own, "-e", "--extension").map((ending) => `*.${ending}`);
  const isWide = /^[.*]*$/.test(pattern) && !own.args.some((arg) => FD_NARROWERS.test(arg));
  const plain = /^[\w.-]+$/.test(pattern) ? [pattern] : [];
  const names = endings.length > 0 ? endings : isWide ? ["*"] : plain;
  const targets = (starts.length === 0 ? ["."] : starts).flatMap((start) =>
    names.length === 0 || isWholeFolder(command, start)
      ? [foundBelow(command, start)]
      : names.map((name) => `${start}/${name}`)
  );
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

/** Options of fd that leave files out. */
const FD_NARROWERS = /^(?:-S|--size|--changed|--older|--newer|-o|--owner|-d|--max-depth)/;

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
function unwrapForFiles({ args }: SimpleCommand): Inner[] {
  const options = args.map((arg) => arg.toLowerCase());
  if (!options.includes("/c")) return [];
  const program = args[options.indexOf("/c") + 1] ?? "";
  const folder = options.includes("/p") ? args[options.indexOf("/p") + 1] ?? "" : ".";
  const file = `${folder.replaceAll("\\", "/")}/*`;
  checkFilling(program, "@", [file]);
  return [shellText(program.replaceAll(/@(?:path|file|fname|relpath)/gi, () => file))];
}

/** What find lists: an agent's state by name, all else as unknown. */
function printsFound(command: SimpleCommand, incoming: Flow): Flow {
  const state = foundState(command);
  const text = state.length === 0 ? null : `${UNKNOWN}\n${state.join("\n")}\n`;
  return { ...incoming, text, paths: [...foundPaths(command), ...state] };
}

/** Options of find whose file is written. */
const FIND_FILES = new Set(["-fprint", "-fprint0", "-fprintf", "-fls"]);
const foundFiles = ({ args }: SimpleCommand) =>
  args.filter((_, at) => FIND_FILES.has(args[at - 1] ?? ""));

/** Programs that look for files, and run others for each. */
export const FINDERS: readonly Family[] = [
  { names: ["find", "gfind"], unwrap: unwrapFind, writes: foundFiles, prints: printsFound },
  { names: ["fd", "fdfind"], unwrap: unwrapFd },
  { names: ["forfiles"], unwrap: unwrapForFiles },
];
