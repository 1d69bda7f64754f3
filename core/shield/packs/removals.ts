import { hasFlag, isRehearsal, operands } from "../programs/arguments.ts";
import { type Condition, once, type Rule, type SimpleCommand } from "../model.ts";
import { classifyPath, hasGlob, holdsSystem, locate, type PathKind } from "../programs/paths.ts";

const REMOVERS = [
  "rm",
  "grm",
  "srm",
  "rimraf",
  "trash-rm",
  "unlink",
  "shred",
  "remove-item",
  "ri",
  "del",
  "erase",
  "rd",
  "rmdir",
  "deltree",
];
/** Alone, rmdir only takes folders that are empty. */
const FILE_REMOVERS = REMOVERS.filter((name) => name !== "rmdir");
const RECURSIVE_ALWAYS = new Set(["rimraf", "deltree", "rd"]);
/** Options of these programs that take a value. */
export const REMOVAL_VALUED = new Set(["-n", "--iterations", "-s", "--size", "--interactive"]);

function isRecursive(command: SimpleCommand): boolean {
  return RECURSIVE_ALWAYS.has(command.name) || hasFlag(command, "rR", "recursive") ||
    command.args.some((arg) => arg.length <= 8 && RECURSIVE_FLAGS.has(arg.toLowerCase()));
}

const RECURSIVE_FLAGS = new Set(["-recurse", "-r", "/s"]);

/** Most rules about removal only look at whole trees. */
const TREES: Condition = {
  ask: (command) => isRecursive(command) ? "tree" : "files",
  answers: ["tree"],
};

function removes(command: SimpleCommand, kinds: readonly PathKind[]): boolean {
  return once(command, placesOf).some((place) => kinds.includes(place)) && !isRehearsal(command);
}

/** What each operand's loss would mean. */
function placesOf(command: SimpleCommand): PathKind[] {
  return pathsOf(command).map((path) => classifyPath(locate(command.cwd, path)));
}

/** The operands; `/s` and `/q` are options of the programs of Windows. */
function pathsOf(command: SimpleCommand): readonly string[] {
  const paths = operands(command, REMOVAL_VALUED);
  return SLASHED.has(command.name) ? paths.filter((path) => !/^\/[a-z]$/i.test(path)) : paths;
}

const SLASHED = new Set(["del", "erase", "rd", "rmdir", "deltree"]);

function removesTree(...kinds: readonly PathKind[]) {
  return (command: SimpleCommand) => removes(command, kinds);
}

/** A wildcard over a whole folder needs no `-r` to empty it. */
function emptiesFolder(command: SimpleCommand): boolean {
  return pathsOf(command).some((path) => {
    if (!hasGlob(path)) return false;
    const kind = classifyPath(locate(command.cwd, path));
    return kind === "root" || kind === "system" || kind === "home" || kind === "working_folder";
  }) && !isRehearsal(command);
}

const SAFER_RM = "Name the exact folder, look at it with ls first, or move it to a trash folder.";

/** Files and folders that are deleted by name. */
export const REMOVAL_RULES: readonly Rule[] = [
  {
    id: "filesystem.remove_root",
    pack: "filesystem",
    commands: REMOVERS,
    when: TREES,
    match: (command) => removes(command, ["root"]) || hasFlag(command, "", "no-preserve-root"),
    blast: 5,
    irreversibility: 5,
    threat: "destructive_delete",
    explanation: "It deletes the whole file system.",
    safer_alternative: SAFER_RM,
  },
  {
    id: "filesystem.remove_system",
    pack: "filesystem",
    commands: REMOVERS,
    when: TREES,
    match: removesTree("system"),
    blast: 5,
    irreversibility: 5,
    threat: "destructive_delete",
    explanation: "It deletes a folder that the system or all its users need.",
    safer_alternative: SAFER_RM,
  },
  {
    id: "filesystem.remove_home",
    pack: "filesystem",
    commands: REMOVERS,
    when: TREES,
    match: removesTree("home"),
    blast: 4,
    irreversibility: 5,
    threat: "destructive_delete",
    explanation: "It deletes a whole home folder.",
    safer_alternative: SAFER_RM,
  },
  {
    id: "filesystem.remove_tree",
    pack: "filesystem",
    commands: REMOVERS,
    when: TREES,
    match: removesTree("working_folder", "home_part", "system_part", "elsewhere"),
    blast: 3,
    irreversibility: 5,
    threat: "destructive_delete",
    explanation: "It deletes a folder with everything in it, and no copy is kept.",
    safer_alternative: SAFER_RM,
  },
  {
    id: "filesystem.remove_local_tree",
    pack: "filesystem",
    commands: REMOVERS,
    when: TREES,
    match: removesTree("local"),
    blast: 2,
    irreversibility: 4,
    threat: "destructive_delete",
    explanation: "It deletes a folder of the project that no build makes again.",
    safer_alternative: "Move the folder aside, or delete it with git so that it can come back.",
  },
  {
    id: "filesystem.remove_unknown_tree",
    pack: "filesystem",
    commands: REMOVERS,
    when: TREES,
    match: (command) =>
      removes(command, ["unknown"]) ||
      (!isRehearsal(command) && command.stdin !== null && operands(command).length === 0),
    blast: 3,
    irreversibility: 4,
    threat: "destructive_delete",
    explanation:
      "It deletes a folder whose name is only known when it runs; an empty variable makes it another one.",
    safer_alternative: 'Write the path out, or guard it: rm -rf "${DIR:?}/build".',
  },
  {
    id: "filesystem.remove_all_files",
    pack: "filesystem",
    commands: FILE_REMOVERS,
    match: emptiesFolder,
    blast: 3,
    irreversibility: 4,
    threat: "destructive_delete",
    explanation: "A wildcard deletes every file of a folder.",
    safer_alternative: "Name the files, or list what the wildcard matches first.",
  },
  {
    id: "filesystem.remove_system_file",
    pack: "filesystem",
    commands: FILE_REMOVERS,
    match: (command) =>
      removes(command, ["system_part", "system", "root"]) &&
      pathsOf(command).some((path) => holdsSystem(path, command.cwd)),
    blast: 4,
    irreversibility: 4,
    threat: "destructive_delete",
    explanation: "It deletes a file that belongs to the system.",
    safer_alternative: "Let the package manager remove it, or keep a copy beside it.",
  },
];
