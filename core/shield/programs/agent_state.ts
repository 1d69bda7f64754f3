import { type CodeScan, type SimpleCommand, UNKNOWN } from "../model.ts";
import { locate, normalizePath } from "./paths.ts";
import { factsOf } from "./families.ts";
import {
  FOLDER,
  holdsMostlyState,
  holdsState,
  KEY_FILES,
  mayBe,
  SYSTEMD_CREDENTIAL,
} from "./state_places.ts";
import { innerCommand } from "./wrapper.ts";
import { wrappersOf } from "./wrappers.ts";

/** Memory and environment of a process. */
const PROCESS_FILES = ["environ", "mem"];

/** The number of the standard input: a file that the agent read its credential from stays open there. */
const STDIN = "0";
/** The names of the process that looks. */
const OWN_PROCESS = new Set(["self", "thread-self"]);
/** A quick test that few words pass. Without it, everyday lines take 25 % longer, and hostile ones 45 %. */
const MAY_CONCERN =
  /relay|^[/~].*\*\*|\bproc\b|^\/[^/]*[*?[]|run\/credentials|\.local|\/\.[^/]*[*?[]|var\/lib\b/i;

const LOOKERS = factsOf("looks");
/** Options of programs that only look, whose file is read. */
const READ_BY_LOOKERS = /^--files0-from=/;
const DESCENDERS = factsOf("descends");
const READERS_BELOW = factsOf("readsBelow");
const SCRIPTED = factsOf("scripted");

/** Whether a command reads or changes an agent's state, or the environment or memory of a process. */
export const touchesAgentState = (command: SimpleCommand): boolean =>
  mayTouch(command) && touches(command);

const mayTouch = ({ name, program, cwd, args, redirections }: SimpleCommand): boolean =>
  redirections.length > 0 || READERS_BELOW.has(name) || MAY_CONCERN.test(cwd) ||
  MAY_CONCERN.test(program) || args.some(mayConcern);

const mayConcern = (word: string): boolean => MAY_CONCERN.test(word);

function touches(command: SimpleCommand): boolean {
  const { name, program, cwd, redirections } = command;
  const everywhere = MAY_CONCERN.test(cwd);
  const concerns = (word: string) => everywhere || mayConcern(word);
  const isTouched = (path: string) => isAgentState(locate(cwd, path));
  if (redirections.some(({ target }) => concerns(target) && isTouched(target))) return true;
  // `sudo -e file` looks like a program that is run.
  if (MAY_CONCERN.test(program) && isTouched(program)) return true;
  if (readsStateBelow(command)) return true;
  if (!command.args.some(concerns)) return false;
  const looks = LOOKERS.has(name);
  return ownArgs(command).some((arg) =>
    concerns(arg) && (!looks || READ_BY_LOOKERS.test(arg)) &&
    pathsIn(arg, name).some((path) =>
      isTouched(path) || DESCENDERS.has(name) && holdsMostlyState(locate(cwd, path))
    )
  );
}

/** Whether a command reads a whole folder that state, or processes, lie below. */
function readsStateBelow(command: SimpleCommand): boolean {
  const folders = READERS_BELOW.get(command.name)?.(command) ?? [];
  return folders.map((folder) => locate(command.cwd, folder)).some((path) =>
    isAgentState(path) || holdsState(path) || holdsProcesses(path)
  );
}

/** The arguments that are the program's own, and not those of a command that it runs. */
function ownArgs({ name, args }: SimpleCommand): readonly string[] {
  const inner = wrappersOf(name).map((wrapper) => innerCommand(wrapper, args)?.argv.length ?? 0);
  return inner.length === 0 ? args : args.slice(0, args.length - Math.max(...inner));
}

/** The paths that an argument may hold: `if=path`, `host:path`, `@path`, `-Tpath`. */
function pathsIn(arg: string, name: string): string[] {
  const words = SCRIPTED.has(name)
    ? arg.split(/[\s"'()]+/, PIECES_MAX)
    : /\s/.test(arg)
    ? []
    : [arg];
  return words.flatMap((word) => [
    word.startsWith("-") ? word.slice(2) : word,
    ...word.split(/[=:@,]/, PIECES_MAX).slice(1),
  ]).filter((path) => path !== "" && !path.startsWith("-"));
}

/** An argument holds no more paths than this. */
const PIECES_MAX = 16;

/** Whether a path leads to an agent's state, or to the environment or memory of a process. */
function isAgentState(raw: string): boolean {
  const parts = normalizePath(raw.toLowerCase()).split("/");
  const [first, top, folder] = parts;
  const last = parts.at(-1)!;
  if (last === SYSTEMD_CREDENTIAL) return true;
  if (isOfProcess(parts)) return true;
  if (first === "" && top === "run" && folder === "credentials" && parts.length > 3) return true;
  if (first === "" && top === "etc" && folder === "relay" && mayBe(last, "token")) return true;
  const deep = parts.indexOf("**");
  if (deep >= 0 && holdsState(parts.slice(0, deep).join("/") || "/")) {
    return KEY_FILES.some((name) => mayBe(last, name));
  }
  return parts.some((_, at) => isStateFolder(parts, at));
}

/** Whether a path leads to the environment or memory of a process, or to the standard input of another one. */
function isOfProcess(parts: readonly string[]): boolean {
  const at = parts.findIndex((part) => mayBe(part, "proc"));
  // `proc/environ` is a file of a project, where nothing says that it is the folder of all processes.
  if (parts[0] !== "" || at < 0 || parts.length < at + 3) return false;
  const last = parts.at(-1)!;
  if (PROCESS_FILES.some((name) => mayBe(last, name))) return true;
  const process = parts[at + 1]!;
  return mayBe(parts[at + 2]!, "fd") && mayBe(last, STDIN) && !OWN_PROCESS.has(process);
}

/** Whether this part of a path is a state folder, by its name, the folders before it and the file behind it. */
function isStateFolder(parts: readonly string[], at: number): boolean {
  const part = parts[at]!;
  const isNamed = part.startsWith(FOLDER) && !part.includes(".");
  if (!isNamed && !mayBe(part, FOLDER)) return false;
  const isPlace = isStatePlace(parts, at);
  const file = parts[at + 1];
  if (file === undefined) return isPlace || isNamed && isOwnFolder(parts, at);
  if (isNamed && isPlace) return true;
  return (isNamed || isPlace) && parts.length === at + 2 &&
    (file === UNKNOWN || KEY_FILES.some((name) => mayBe(file, name)));
}

/** Whether a folder of this name may hold state anywhere: it is named from the root or from a home. */
const isOwnFolder = (parts: readonly string[], at: number): boolean =>
  (parts[0] === "" || parts[0] === "~") && !OTHER_PLACES.has(parts[at - 1] ?? "");

/** Whether programs keep their state in the folder of this part: `~/.local/state`, `/var/lib`, `$XDG_STATE_HOME`. */
function isStatePlace(parts: readonly string[], at: number): boolean {
  const above = parts[at - 2] ?? "";
  const folder = parts[at - 1] ?? "";
  if (at === 1 && folder === UNKNOWN) return true;
  return mayBe(above, ".local") && mayBe(folder, "state") || above === "var" && folder === "lib" ||
    above === "appdata" && folder === "local";
}

/** Folders where programs, their settings and their source code are. */
const OTHER_PLACES = new Set("bin default doc init.d libexec log sbin src system".split(" "));

/** Whether a path is the folder of all processes, or of one. */
function holdsProcesses(raw: string): boolean {
  const [first, top, process, ...more] = normalizePath(raw).split("/");
  if (first !== "" || top !== "proc" || more.length > 0) return false;
  return process === undefined || OWN_PROCESS.has(process) || process.includes(UNKNOWN) ||
    /^[\d*?[\]-]+$/.test(process);
}

/** Names in code that list a folder, and those that read what is listed, or copy the whole folder. */
const LISTERS = "find glob iglob listdir readdir readdirsync rglob scandir walk".split(" ");
const FILE_READERS = "file_get_contents open read read_text readfile readfilesync".split(" ");
const TREE_COPIERS = "copytree cp_r cpsync make_archive".split(" ");
/** A call whose argument is the root; elsewhere `"/"` mostly joins the parts of a path. */
const TAKES_ROOT = /\(\s*(["'])\/\1\s*[,)]/;

/** Whether code reads all of a folder that an agent's state lies below. */
function readsStateInCode({ names, strings, code }: CodeScan): boolean {
  const has = (some: readonly string[]) => some.some((name) => names.has(name));
  return (has(TREE_COPIERS) || has(LISTERS) && has(FILE_READERS)) &&
    strings.some((text) => text === "/" ? TAKES_ROOT.test(code) : holdsState(text));
}

/** Whether code names an agent's state, puts its path together, or reads all around it. */
export function readsAgentState(scan: CodeScan): boolean {
  const { strings } = scan;
  if (readsStateInCode(scan)) return true;
  const has = (test: (text: string) => boolean) => strings.some(test);
  return has((text) => MAY_CONCERN.test(text) && !text.includes(" ") && isAgentState(text)) ||
    has((text) => text.includes(FOLDER)) && has((text) => KEY_FILES.includes(text)) ||
    has((text) => text.includes("/proc")) && has((text) => text.endsWith("environ"));
}

/** Letters of `ps` whose value is the next word, in its two styles of options. */
const PS_VALUED = /^(?:-\w*[oOpqtuUCgGsk]|\w*[oOpqtUk])$/;

/** Whether `ps` prints the environment of processes: `ps eww`, which is not `ps -e`. */
export function printsEnvironment({ args }: SimpleCommand): boolean {
  return args.some((arg, at) =>
    arg === "-E" || arg.includes("environ") ||
    /^[a-zA-Z]*e[a-zA-Z]*$/.test(arg) && !PS_VALUED.test(args[at - 1] ?? "") &&
      !(args[at - 1] ?? "").startsWith("--")
  );
}

/** A command of gdb about an unknown process. */
const ATTACHES = new RegExp(`\\battach\\s+${UNKNOWN}`);

/** Whether a debugger is attached to the parent process, or to one that is found by the agent's name. */
export function attachesToAgent({ args }: SimpleCommand): boolean {
  return args.some((arg, at) => {
    const attached = /^(?:-p|--pid=)(.+)$/s.exec(arg)?.[1] ??
      (args[at - 1] === "-p" || args[at - 1] === "--pid" || args[at - 1] === "attach" ? arg : null);
    if (ATTACHES.test(arg)) return true;
    const found = attached ?? (at > 0 && arg.startsWith(UNKNOWN) ? arg : null);
    return found === UNKNOWN ||
      found !== null && found.includes(UNKNOWN) && /relay|deno/i.test(found);
  });
}
