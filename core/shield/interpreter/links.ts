import { spendCompare } from "./budget.ts";
import { type Flow, known, type Redirection, UNKNOWN } from "../model.ts";
import { locate, normalizePath } from "../programs/paths.ts";
import { folderOf, hasFiles, type Inspection, readFile, type Scope, writeFile } from "./scope.ts";

/** Aliases and hashed names are kept as scripts in this folder, which is searched first. */
const NAMED = "/dev/named";

/** Folders of programs that are searched where the line does not say which. */
const USUAL_PATH =
  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:~/bin:~/.local/bin";

const USUAL_FOLDERS = USUAL_PATH.split(":");

/** More folders are not searched. */
const MAX_FOLDERS = 16;

/** Gives a name a program, as shell text that takes its arguments. */
export function nameProgram(scope: Scope, name: string, text: string): void {
  writeFile(scope, aliasKey(name), known(text), false);
}

/** The path of an alias; it is active while it runs, because an alias does not expand in its own text. */
export function aliasKey(program: string): string {
  return `${NAMED}/${program}`;
}

/** The content that the line wrote to the files that a program's name may refer to. */
export function writtenPrograms(program: string, hasFolder: boolean, scope: Scope): Flow[] {
  if (!hasFiles(scope)) return NO_FLOWS;
  if (hasFolder) return [readFile(scope, program)].filter((flow) => flow !== null);
  const { budget, fileNames } = scope.inspection;
  if (!fileNames.mayHave(program)) return NO_FLOWS;
  const alias = aliasKey(program);
  const named = scope.active.has(alias) ? null : readFile(scope, alias);
  const flows = named === null ? [] : [named];
  const searched = scope.values.get("PATH") ?? USUAL_PATH;
  spendCompare(budget, searched.length);
  const isUsual = searched === USUAL_PATH;
  // An alias that no file shares its name with lies in none of the usual folders.
  const isElsewhere = !isUsual || !fileNames.isOnly(alias);
  for (const folder of isUsual ? USUAL_FOLDERS : searched.split(":", MAX_FOLDERS)) {
    const from = folder === "" ? "." : folder;
    spendCompare(budget, from.length + 1 + program.length);
    if (!isElsewhere) continue;
    const written = readFile(scope, `${from}/${program}`);
    if (written === null) continue;
    flows.push(written);
    break;
  }
  return flows;
}

const NO_FLOWS: Flow[] = [];

/** Notes that a path leads to another one. */
export function noteLink(scope: Scope, path: string, target: string): void {
  const at = normalizePath(locate(folderOf(scope), path));
  // A link's target is seen from the folder that the link is in.
  const folder = at.includes("/") ? at.slice(0, at.lastIndexOf("/")) || "/" : folderOf(scope);
  const end = normalizePath(locate(folder, target));
  if (end !== at && !end.startsWith(`${at}/`)) scope.inspection.links.set(at, end);
}

/** Follows the links in a path; answers the same path where there is none. */
export function followLinks(scope: Scope, path: string, isWhole: boolean): string {
  if (scope.inspection.links.size === 0) return path;
  let at = normalizePath(locate(folderOf(scope), path));
  let followed = path;
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const next = followOne(scope.inspection, at, isWhole);
    if (next === null) break;
    at = followed = next;
  }
  return followed;
}

/** Links that lead to links; Linux follows no more. */
const MAX_HOPS = 40;

function followOne({ links, budget }: Inspection, path: string, isWhole: boolean): string | null {
  const whole = isWhole ? links.get(path) : undefined;
  if (whole !== undefined) return whole;
  for (let at = path.indexOf("/", 1); at >= 0; at = path.indexOf("/", at + 1)) {
    spendCompare(budget, at);
    const target = links.get(path.slice(0, at));
    if (target !== undefined) return normalizePath(target + path.slice(at));
  }
  return null;
}

/** Programs that take a link itself, not what it leads to. */
const LINK_PROGRAMS = new Set("rm unlink mv ln ls readlink test [ trash".split(" "));

/** A command's arguments and redirections with the links in them followed; null where there is none. */
export function followAll(
  name: string,
  args: readonly string[],
  redirections: readonly Redirection[],
  scope: Scope,
): { readonly args: readonly string[]; readonly redirections: readonly Redirection[] } | null {
  if (scope.inspection.links.size === 0) return null;
  const isWhole = !LINK_PROGRAMS.has(name);
  let changed = false;
  const follow = (path: string, whole: boolean) => {
    if (path.startsWith("-") || path.includes(UNKNOWN) && !path.includes("/")) return path;
    const followed = followLinks(scope, path, whole);
    changed ||= followed !== path;
    return followed;
  };
  const found = {
    args: args.map((arg) => follow(arg, isWhole)),
    redirections: redirections.map((one) => ({ ...one, target: follow(one.target, true) })),
  };
  return changed ? found : null;
}
