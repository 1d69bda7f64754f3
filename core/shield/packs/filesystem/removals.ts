import {
  type Condition,
  FROM_NETWORK,
  LISTED,
  once,
  type Rule,
  rule,
  type SimpleCommand,
} from "../rule.ts";
import {
  hasFlag,
  hasOption,
  isRehearsal,
  operands,
  optionValues,
} from "../../programs/arguments.ts";
import { classifyPath, hasGlob, holdsSystem, locate, type PathKind } from "../../programs/paths.ts";

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
/** Without options, rmdir deletes only empty folders. */
const FILE_REMOVERS = REMOVERS.filter((name) => name !== "rmdir");
const RECURSIVE_ALWAYS = new Set(["rimraf", "deltree", "rd"]);
/** Options of these programs that take a value. */
export const REMOVAL_VALUED = new Set(["-n", "--iterations", "-s", "--size", "--interactive"]);

function isRecursive(command: SimpleCommand): boolean {
  return RECURSIVE_ALWAYS.has(command.name) || hasFlag(command, "rR", "recursive") ||
    command.args.some((arg) => arg.length <= 8 && RECURSIVE_FLAGS.has(arg.toLowerCase()));
}

const RECURSIVE_FLAGS = new Set(["-recurse", "-r", "/s"]);

/** Most rules about removal concern whole trees. */
const TREES: Condition = {
  ask: (command) => isRecursive(command) ? "tree" : "files",
  answers: ["tree"],
};

function removes(command: SimpleCommand, kinds: readonly PathKind[]): boolean {
  return once(command, placesOf).some((place) => kinds.includes(place));
}

/** The kind of each operand's path. */
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

/** A wildcard over a whole folder, or over data outside of the project, needs no `-r` to destroy much. */
function emptiesFolder(command: SimpleCommand): boolean {
  return pathsOf(command).some((path) => {
    if (!hasGlob(path)) return false;
    const kind = classifyPath(locate(command.cwd, path));
    return kind === "root" || kind === "system" || kind === "home" || kind === "working_folder" ||
      kind === "elsewhere";
  });
}

/** The whole name is only known when another command or a file tells it. */
function removesListed(command: SimpleCommand): boolean {
  return pathsOf(command).some((path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const isListed = name.endsWith(LISTED) || name.endsWith(FROM_NETWORK);
    return isListed && !MADE_AGAIN.has(classifyPath(locate(command.cwd, path)));
  });
}

const MADE_AGAIN: ReadonlySet<PathKind> = new Set(["temporary", "regenerable"]);

const SEVEN_ZIP: readonly string[] = ["7z", "7za", "7zr", "7zz"];

const hasTemporaryArchive = (command: SimpleCommand): boolean =>
  optionValues(command, "-f", "--file")
    .some((path) => classifyPath(locate(command.cwd, path)) === "temporary");

const SAFER_RM = "Name the exact folder, look at it with ls first, or move it to a trash folder.";

/** Files and folders that are deleted by name. */
export const REMOVAL_RULES: readonly Rule[] = [
  rule({
    id: "filesystem.remove_root",
    title: "Delete the whole file system",
    commands: REMOVERS,
    when: TREES,
    match: (command) =>
      (removes(command, ["root"]) && !isRehearsal(command)) ||
      hasFlag(command, "", "no-preserve-root"),
    evenRehearsed: true,
    weight: [5, 5],
    threat: "destructive_delete",
    explanation: "It deletes the whole file system.",
    safer: SAFER_RM,
    hits: ["rm -rf /", "Remove-Item -Recurse -Force C:\\"],
    misses: ["rm -f /tmp/build.log", "rm -rf node_modules"],
  }),
  rule({
    id: "filesystem.remove_system",
    title: "Delete a system folder",
    commands: REMOVERS,
    when: TREES,
    match: removesTree("system"),
    weight: [5, 5],
    threat: "destructive_delete",
    explanation: "It deletes a folder that the system or all its users need.",
    safer: SAFER_RM,
    hits: ["rm -fr /etc", "rmdir /s /q C:\\Users"],
    misses: ["rmdir empty-folder", "rm -rf ./dist"],
  }),
  rule({
    id: "filesystem.remove_home",
    title: "Delete a home folder",
    commands: REMOVERS,
    when: TREES,
    match: removesTree("home"),
    weight: [4, 5],
    threat: "destructive_delete",
    explanation: "It deletes a whole home folder.",
    safer: SAFER_RM,
    hits: ["rm -rf ~", "rm -rf /home/anna"],
    misses: ["rm -rf ~/.cache/pip", "rm -f ~/notes.txt.bak"],
  }),
  rule({
    id: "filesystem.remove_tree",
    title: "Delete a folder outside the project",
    commands: REMOVERS,
    when: TREES,
    match: removesTree("working_folder", "home_part", "system_part", "elsewhere"),
    weight: [3, 5],
    threat: "destructive_delete",
    explanation: "It deletes a folder with everything in it, and no copy is kept.",
    safer: SAFER_RM,
    hits: ["npx rimraf /srv/app", "rm -rf ."],
    misses: ["rm -rf /tmp/build-4711", "npx rimraf dist"],
  }),
  rule({
    id: "filesystem.remove_local_tree",
    title: "Delete a folder of the project",
    commands: REMOVERS,
    when: TREES,
    match: removesTree("local"),
    weight: [2, 4],
    threat: "destructive_delete",
    explanation: "It deletes a folder of the project that no build makes again.",
    safer: "Move the folder aside, or delete it with git so that it can come back.",
    hits: ["rm -rf src", "rm -r docs/manual"],
    misses: ["rm -rf build", "rm -r node_modules/.cache"],
  }),
  rule({
    id: "filesystem.remove_unknown_tree",
    title: "Delete a folder whose name is computed",
    commands: REMOVERS,
    when: TREES,
    match: (command) =>
      removes(command, ["unknown"]) ||
      (command.stdin !== null && operands(command).length === 0),
    weight: [3, 4],
    threat: "destructive_delete",
    explanation:
      "It deletes a folder whose name is known only when the command runs; an empty variable changes the folder.",
    safer: 'Write the path out, or guard it: rm -rf "${DIR:?}/build".',
    hits: ["rm -rf $X", "cat list.txt | xargs rm -rf"],
    misses: ['D=build; rm -rf "$D"', 'rm -f "$FILE"'],
  }),
  rule({
    id: "filesystem.remove_listed",
    title: "Delete files that a list names",
    commands: FILE_REMOVERS,
    match: removesListed,
    weight: [2, 4],
    threat: "destructive_delete",
    explanation:
      "It deletes files whose names another command or a file tells, so they may be any.",
    safer: "Print the list first, check it, then delete what it names.",
    hits: [
      'while read -r f; do rm -f "$f"; done < files.txt',
      "cat files.txt | xargs rm",
      "rm -f $(ls -t /backups | tail -n +8)",
      "parallel rm -f :::: list.txt",
    ],
    misses: [
      'rm -f "$FILE"',
      'while read -r f; do echo rm "$f"; done < files.txt',
      't=$(mktemp); sort a > "$t"; rm "$t"',
      "find . -name '*.o' | xargs rm -f",
    ],
  }),
  rule({
    id: "filesystem.remove_all_files",
    title: "Empty a folder with a wildcard",
    commands: FILE_REMOVERS,
    match: emptiesFolder,
    weight: [3, 4],
    threat: "destructive_delete",
    explanation: "A wildcard deletes every file of a folder.",
    safer: "Name the files, or list what the wildcard matches first.",
    hits: ["rm -f /srv/*", "rm -f ~/*"],
    misses: ["rm -f *.o", "rm -f build/*"],
  }),
  rule({
    id: "filesystem.remove_system_file",
    title: "Delete a system file",
    commands: FILE_REMOVERS,
    match: (command) =>
      removes(command, ["system_part", "system", "root"]) &&
      pathsOf(command).some((path) => holdsSystem(path, command.cwd)),
    weight: [4, 4],
    threat: "destructive_delete",
    explanation: "It deletes a file that belongs to the system.",
    safer: "Let the package manager remove it, or keep a copy beside it.",
    hits: ["unlink /etc/fstab", "sudo rm -f /boot/vmlinuz-6.1"],
    misses: ["rm -f app/etc/settings.json", "unlink current-release"],
  }),
  rule({
    id: "filesystem.archive_removes",
    title: "Delete files after archiving them",
    commands: ["tar", "gtar", "zip", ...SEVEN_ZIP],
    match: (command) =>
      hasOption(command, "--remove-files", "--recursive-unlink") ||
      (hasOption(command, "--delete") && !hasTemporaryArchive(command)) ||
      (command.name === "zip" && hasFlag(command, "m", "move")) ||
      (SEVEN_ZIP.includes(command.name) && hasOption(command, "-sdel")),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "data_loss",
    explanation: "It deletes files once they are archived, or takes entries out of the archive.",
    safer: "Check the archive first, then delete the files.",
    hits: [
      "tar czf logs.tgz --remove-files /srv/logs",
      "zip -m archive.zip reports/*",
      "7z a -sdel out.7z /srv/reports/2022",
    ],
    misses: [
      "tar czf backup.tgz src",
      "zip -r site.zip public",
      "tar --delete -f /tmp/a.tar x",
      "7z a out.7z reports",
    ],
  }),
];
