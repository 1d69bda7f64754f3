import { hasFlag, hasOption, isRehearsal, operands } from "../programs/arguments.ts";
import { type Condition, once, type Rule, type SimpleCommand, UNKNOWN } from "../model.ts";
import {
  asFolder,
  classifyPath,
  holdsSystem,
  isDescriptor,
  isVital,
  locate,
  normalizePath,
  type PathKind,
} from "../programs/paths.ts";
import { findScope } from "../programs/unwrap_items.ts";
import { WRITERS, writtenPaths } from "../programs/written.ts";
import { REMOVAL_VALUED } from "./removals.ts";

const DELETES: Condition = {
  ask: (command) => command.args.includes("-delete") ? "deletes" : "",
  answers: ["deletes"],
};

function findDeletes(...kinds: readonly PathKind[]) {
  return (command: SimpleCommand) => {
    const { starts, narrowed } = findScope(command);
    return starts.some((start) => {
      const kind = classifyPath(
        locate(command.cwd, narrowed === null ? start : `${start}/${narrowed}`),
      );
      return kinds.includes(kind) ||
        (narrowed !== null && kind === "unknown" && kinds.includes("unknown"));
    });
  };
}

const OVERWRITES = new Set([">", ">|", "&>", ">&"]);

function overwrites(command: SimpleCommand): boolean {
  return command.redirections.some(({ operator, target }) =>
    OVERWRITES.has(operator) && !isDescriptor(target) && holdsSystem(target, command.cwd)
  );
}

const EDITORS = new Set(["sed", "gsed", "perl", "gawk", "scp", "rsync", "patch"]);

/** `cp x.conf x.conf.bak`: a copy beside the file. */
function keepsCopy(command: SimpleCommand): boolean {
  const [from = "", to = "", ...more] = operands(command);
  return command.name === "cp" && more.length === 0 && to.length > from.length + 1 &&
    to.startsWith(from) && COPY_TAIL.test(to.slice(from.length));
}

const COPY_TAIL = /^[.~_-][^/]*$/;

/** Whatever a search finds below the root or a folder of the system. */
function isBelowSystem(path: string): boolean {
  const found = [UNKNOWN, "*"].find((end) => path.endsWith(`/${end}`));
  if (found === undefined) return false;
  const kind = classifyPath(path.slice(0, -found.length));
  return kind === "root" || kind === "system";
}

/** Whether the folder that is synchronized is made again by a build, or temporary. */
function syncsRegenerable(command: SimpleCommand): boolean {
  const target = operands(command).at(-1) ?? UNKNOWN;
  const kind = classifyPath(locate(command.cwd, target));
  return !target.includes(":") && (kind === "regenerable" || kind === "temporary");
}

/** Files, folders and their permissions. */
export const FILESYSTEM_RULES: readonly Rule[] = [
  {
    id: "filesystem.shred",
    pack: "filesystem",
    commands: ["shred", "srm", "wipe", "sfill", "scrub"],
    match: (command) =>
      command.name !== "srm" && operands(command, REMOVAL_VALUED).length > 0 &&
      !isRehearsal(command),
    blast: 2,
    irreversibility: 5,
    threat: "destructive_delete",
    explanation: "It overwrites files so that nothing can bring them back.",
    safer_alternative: "Delete them normally and keep the backup.",
  },
  {
    id: "filesystem.find_delete_everything",
    pack: "filesystem",
    commands: ["find", "gfind"],
    when: DELETES,
    match: findDeletes("root", "system", "home"),
    blast: 5,
    irreversibility: 5,
    threat: "destructive_delete",
    explanation: "It deletes everything that find reaches below a system or home folder.",
    safer_alternative: "Run it with -print instead of -delete first, and narrow it.",
  },
  {
    id: "filesystem.find_delete",
    pack: "filesystem",
    commands: ["find", "gfind"],
    when: DELETES,
    match: findDeletes("working_folder", "home_part", "system_part", "elsewhere", "unknown"),
    blast: 3,
    irreversibility: 4,
    threat: "destructive_delete",
    explanation: "It deletes whatever find matches, without a list beforehand.",
    safer_alternative: "Run it with -print instead of -delete first.",
  },
  {
    id: "filesystem.overwrite_system_file",
    pack: "filesystem",
    commands: null,
    also: ["redirected"],
    match: overwrites,
    blast: 4,
    irreversibility: 4,
    threat: "system_tampering",
    explanation: "It overwrites a file that belongs to the system.",
    safer_alternative: "Write to a new file, compare, and keep a copy of the old one.",
  },
  {
    id: "filesystem.write_system_file",
    pack: "filesystem",
    // What `sed -i` and the like change of one file is daily work.
    commands: WRITERS.filter((name) => !EDITORS.has(name)),
    match: (command) =>
      !isRehearsal(command) && !keepsCopy(command) &&
      once(command, writtenPaths).some((path) =>
        PROTECTED.some((start) => asFolder(locate(command.cwd, path)).startsWith(start)) &&
        holdsSystem(path, command.cwd)
      ),
    blast: 4,
    irreversibility: 3,
    threat: "system_tampering",
    explanation: "It writes into a folder that belongs to the system.",
    safer_alternative: "Keep a copy of what was there, or use the package manager.",
  },
  {
    id: "filesystem.move_away",
    pack: "filesystem",
    commands: ["mv", "gmv"],
    match: (command) => {
      const paths = operands(command);
      const target = paths.at(-1) ?? "";
      const sources = paths.slice(0, -1).map((path) => classifyPath(locate(command.cwd, path)));
      return target === "/dev/null" ||
        paths.slice(0, -1).some((path) => isVital(path, command.cwd)) ||
        sources.some((kind) => kind === "root" || kind === "system" || kind === "home");
    },
    blast: 4,
    irreversibility: 5,
    threat: "destructive_delete",
    explanation:
      "It moves a system or home folder away, or a file that the system needs, or throws files into /dev/null.",
    safer_alternative: "Copy first, and move single files.",
  },
  {
    id: "filesystem.truncate",
    pack: "filesystem",
    commands: ["truncate"],
    match: (command) =>
      !isRehearsal(command) && !emptiesLogs(command) &&
      (hasOption(command, "-s0", "--size=0") ||
        command.args.some((arg) => arg === "0" || arg.startsWith("-s"))),
    blast: 2,
    irreversibility: 5,
    threat: "data_loss",
    explanation: "It cuts a file down, and what is cut off is gone.",
    safer_alternative: "Copy the file first, or rotate it.",
  },
  {
    id: "filesystem.empties_file",
    pack: "filesystem",
    commands: ["cp", "dd", "install", "fallocate"],
    match: (command) => !isRehearsal(command) && emptiesFile(command),
    blast: 4,
    irreversibility: 4,
    threat: "data_loss",
    explanation: "It writes nothing, or noise, over a file that belongs to the system.",
    safer_alternative: "Stop the program that has it, and keep a copy.",
  },
  {
    id: "filesystem.open_everything",
    pack: "filesystem",
    commands: ["chmod", "chown", "chgrp", "setfacl", "icacls", "takeown", "chattr"],
    match: (command) => changesTree(command, (path) => !HOLDS_DATA.test(normalizePath(path))),
    blast: 5,
    irreversibility: 4,
    threat: "permission_change",
    explanation:
      "It changes the permissions of a whole system or home folder, which cannot be undone by one command.",
    safer_alternative: "Change the one file or folder that needs it.",
  },
  {
    id: "filesystem.change_tree",
    pack: "filesystem",
    commands: ["chmod", "chown", "chgrp"],
    match: (command) => changesTree(command, (path) => HOLDS_DATA.test(normalizePath(path))),
    blast: 3,
    irreversibility: 3,
    threat: "permission_change",
    explanation: "It changes the permissions of all that a service or a person keeps.",
    safer_alternative: "Note the owner and mode of what is there first: getfacl -R.",
  },
  {
    id: "filesystem.world_writable",
    pack: "filesystem",
    commands: ["chmod"],
    match: (command) => {
      const mode = operands(command)[0] ?? "";
      const open = mode.endsWith("777") || mode.endsWith("666") || mode.includes("a+rwx") ||
        mode.includes("o+w") || mode.includes("a+w");
      const bare = command.args.some((arg) => arg === "-R" || arg === "--recursive");
      return open &&
        (bare || operands(command).slice(1).some((path) => holdsSystem(path, command.cwd)));
    },
    blast: 3,
    irreversibility: 3,
    threat: "permission_change",
    explanation: "It lets every user of the machine change these files.",
    safer_alternative: "Give the one user or group that needs it the right: chmod g+w.",
  },
  {
    id: "filesystem.edit_tree",
    pack: "filesystem",
    commands: ["sed", "gsed", "perl", "chmod", "chown", "chgrp"],
    match: (command) => {
      const targets = operands(command).slice(1);
      if (isRehearsal(command)) return false;
      if (command.name.startsWith("ch")) return targets.some(isBelowSystem);
      return hasFlag(command, "i", "in-place") &&
        targets.some((path) => isBelowSystem(path) || classifyPath(path) === "system");
    },
    blast: 4,
    irreversibility: 4,
    threat: "system_change",
    explanation: "It changes every file that is found below a folder of the system.",
    safer_alternative: "Name the files.",
  },
  {
    id: "filesystem.sync_deletes",
    pack: "filesystem",
    commands: ["rsync", "robocopy"],
    match: (command) =>
      command.args.some((arg) => MIRRORS.has(arg.toLowerCase())) ||
      (command.args.includes("--remove-source-files") ||
          (command.args.some((arg) => arg.startsWith("--del")) && !syncsRegenerable(command))) &&
        !isRehearsal(command) && !hasFlag(command, "n"),
    blast: 3,
    irreversibility: 4,
    threat: "data_loss",
    explanation: "It deletes at one side what is missing at the other.",
    safer_alternative: "Run it with --dry-run first, or keep what goes with --backup.",
  },
  {
    id: "filesystem.archive_removes",
    pack: "filesystem",
    commands: ["tar", "gtar", "zip"],
    match: (command) =>
      hasOption(command, "--remove-files", "--delete") ||
      (command.name === "zip" && hasFlag(command, "m", "move")),
    blast: 2,
    irreversibility: 4,
    threat: "data_loss",
    explanation: "It deletes files once they are archived, or takes entries out of the archive.",
    safer_alternative: "Check the archive first, then delete the files.",
  },
];

/** `truncate -s 0 app.log` is what `> app.log` is. */
function emptiesLogs(command: SimpleCommand): boolean {
  const files = operands(command, SIZED);
  return files.length > 0 &&
    files.every((file) =>
      file.endsWith(".log") && classifyPath(locate(command.cwd, file)) === "local_file"
    );
}

const SIZED = new Set(["-s", "--size"]);
const EMPTY_SOURCES = new Set(["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"]);

function emptiesFile(command: SimpleCommand): boolean {
  if (command.name === "fallocate") {
    return hasFlag(command, "pcz", "punch-hole", "collapse-range", "zero-range");
  }
  const sources = command.name === "dd"
    ? command.args.filter((arg) => arg.startsWith("if=")).map((arg) => arg.slice(3))
    : operands(command).slice(0, -1);
  return sources.some((source) => EMPTY_SOURCES.has(source)) &&
    once(command, writtenPaths).some((path) => holdsSystem(path, command.cwd));
}

/** What robocopy deletes by. */
const MIRRORS = new Set(["/mir", "/purge", "/mov", "/move"]);

/** Whole folders of the system or of people whose permissions change, down to the last file. */
function changesTree(command: SimpleCommand, concerns: (path: string) => boolean): boolean {
  const recursive = hasFlag(command, "R", "recursive") ||
    command.args.some((arg) => arg.toLowerCase() === "/t" || arg.toLowerCase() === "/r");
  return recursive &&
    operands(command).slice(command.name === "icacls" ? 0 : 1).map((path) =>
      locate(command.cwd, path)
    ).some((path) => ["root", "system", "home"].includes(classifyPath(path)) && concerns(path));
}

/** One service's data, or one person's: to hand it to its owner is daily work. */
const HOLDS_DATA =
  /^(?:\/(?:opt|srv|mnt|media|data|home\/[\w.-]+|var\/(?:www|lib\/(?:mysql|postgresql)))|~)$/;

const PROTECTED = [
  "/etc/",
  "/boot/",
  "/bin/",
  "/sbin/",
  "/lib",
  "/usr/bin/",
  "/usr/sbin/",
  "/usr/lib",
  "/sys/",
  "/proc/",
  "/dev/mem",
];
