import {
  type Condition,
  LISTED,
  newCommand,
  once,
  type Rule,
  rule,
  type SimpleCommand,
  UNKNOWN,
} from "../rule.ts";
import {
  hasFlag,
  hasOption,
  isRehearsal,
  operands,
  optionValues,
} from "../../programs/arguments.ts";
import {
  classifyPath,
  holdsSystem,
  isDescriptor,
  isVital,
  locate,
  normalizePath,
  type PathKind,
} from "../../programs/paths.ts";
import { findScope } from "../../programs/families/find.ts";
import { meansWork } from "../../programs/work_files.ts";
import { writtenPaths } from "../../programs/effects.ts";
import { REMOVAL_VALUED } from "./removals.ts";

const DELETES: Condition = {
  ask: (command) => command.args.includes("-delete") ? "deletes" : "",
  answers: ["deletes"],
};

/** `find . -type d -empty -delete` loses nothing but names. */
function deletesEmpty({ args }: SimpleCommand): boolean {
  const at = args.indexOf("-empty");
  return at >= 0 && at < args.indexOf("-delete") && args[at - 1] !== "!" &&
    args[at - 1] !== "-not" && !args.includes("-o") && !args.includes("-or");
}

function findDeletes(...kinds: readonly PathKind[]) {
  return (command: SimpleCommand) => {
    if (deletesEmpty(command)) return false;
    // What stands behind `-delete` is asked about what is gone.
    const end = command.args.findIndex((arg, at, args) =>
      arg === "-delete" && !/^-i?(?:name|path|regex)$/.test(args[at - 1] ?? "")
    );
    if (end < 0) return false;
    const before = newCommand({ ...command, args: command.args.slice(0, end) });
    const { starts, narrowed } = findScope(before);
    return starts.some((start) => {
      const kind = classifyPath(
        locate(command.cwd, narrowed === null ? start : `${start}/${narrowed}`),
      );
      if (kind === "local") return narrowed === null && kinds.includes("local");
      return kinds.includes(kind) ||
        (kinds.includes("unknown") && narrowed !== null && meansWork(narrowed)) ||
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

/** Whether a word is anything that a search finds below the root or a system folder. */
function isBelowSystem(path: string): boolean {
  const found = [UNKNOWN, LISTED, "*"].find((end) => path.endsWith(`/${end}`));
  if (found === undefined) return false;
  const kind = classifyPath(path.slice(0, -found.length));
  return kind === "root" || kind === "system";
}

/** Whether the target of a synchronization is temporary or can be built again. */
function syncsRegenerable(command: SimpleCommand): boolean {
  const target = operands(command).at(-1) ?? UNKNOWN;
  const kind = classifyPath(locate(command.cwd, target));
  return !target.includes(":") && (kind === "regenerable" || kind === "temporary");
}

/** Files, folders and their permissions. */
export const FILESYSTEM_RULES: readonly Rule[] = [
  rule({
    id: "filesystem.shred",
    title: "Overwrite files beyond recovery",
    commands: ["shred", "srm", "wipe", "sfill", "scrub"],
    match: (command) => command.name !== "srm" && operands(command, REMOVAL_VALUED).length > 0,
    weight: [2, 5],
    threat: "destructive_delete",
    explanation: "It overwrites files so that nothing can bring them back.",
    safer: "Delete them normally and keep the backup.",
    hits: ["shred -u customers.csv", "find / -size +1k -exec shred -u {} +"],
    misses: ["shred --help", "rm -f scratch.txt"],
  }),
  rule({
    id: "filesystem.find_delete_everything",
    title: "Delete everything below a system or home folder",
    commands: ["find", "gfind"],
    when: DELETES,
    match: findDeletes("root", "system", "home"),
    evenRehearsed: true,
    weight: [5, 5],
    threat: "destructive_delete",
    explanation: "It deletes everything that find reaches below a system or home folder.",
    safer: "Run it with -print instead of -delete first, and narrow it.",
    hits: ["find / -delete", "find /etc -delete"],
    misses: ["find / -name '*.conf'", "find . -empty -type d"],
  }),
  rule({
    id: "filesystem.find_delete",
    title: "Delete whatever find matches",
    commands: ["find", "gfind"],
    when: DELETES,
    match: findDeletes(
      "working_folder",
      "home_part",
      "system_part",
      "elsewhere",
      "unknown",
      "local",
    ),
    evenRehearsed: true,
    weight: [3, 4],
    threat: "destructive_delete",
    explanation: "It deletes whatever find matches, without a list beforehand.",
    safer: "Run it with -print instead of -delete first.",
    hits: [
      "find . -name '*' -delete",
      "find /srv -type f -mtime +1 -delete",
      "find . -delete -name '*.tmp'",
      "find . ! -name keep -delete",
      "find . -name '*.sql' -delete",
      "find data -delete",
    ],
    misses: [
      "find . -type d -empty -delete",
      "find . -name x.pyc -delete",
      "find /srv -type f -mtime +1 -print",
    ],
  }),
  rule({
    id: "filesystem.overwrite_system_file",
    title: "Overwrite a system file",
    commands: null,
    also: ["redirected"],
    match: overwrites,
    evenRehearsed: true,
    weight: [4, 4],
    threat: "system_tampering",
    explanation: "It overwrites a file that belongs to the system.",
    safer: "Write to a new file, compare, and keep a copy of the old one.",
    hits: ["echo '' > /etc/fstab", "cat /dev/null > /etc/hosts"],
    misses: ["echo done > out.log", "cat /etc/hosts > hosts.copy"],
  }),
  rule({
    id: "filesystem.move_away",
    title: "Move a system or home folder away",
    commands: ["mv", "gmv"],
    match: (command) => {
      const paths = operands(command);
      const target = paths.at(-1) ?? "";
      const sources = paths.slice(0, -1).map((path) => classifyPath(locate(command.cwd, path)));
      return target === "/dev/null" ||
        paths.slice(0, -1).some((path) => isVital(path, command.cwd)) ||
        sources.some((kind) => kind === "root" || kind === "system" || kind === "home");
    },
    evenRehearsed: true,
    weight: [4, 5],
    threat: "destructive_delete",
    explanation:
      "It moves a system or home folder away, or a file that the system needs, or throws files into /dev/null.",
    safer: "Copy first, and move single files.",
    hits: ["mv ~ /tmp/old", "mv /etc /tmp/etc.bak", "mv notes /dev/null"],
    misses: ["mv draft.md final.md", "mv build/app.bin bin/"],
  }),
  rule({
    id: "filesystem.move_work_away",
    title: "Move everything in the folder away",
    commands: ["mv", "gmv"],
    match: (command) => {
      const paths = operands(command);
      const target = paths.at(-1) ?? "";
      return (classifyPath(locate(command.cwd, target)) === "temporary" || TEMPORARY.has(target)) &&
        paths.slice(0, -1).some((path) =>
          classifyPath(locate(command.cwd, path)) === "working_folder"
        );
    },
    weight: [2, 4],
    threat: "destructive_delete",
    explanation: "It moves everything in the folder to a place that is cleared.",
    safer: "Name the files, and move them where they are kept.",
    hits: ["mv * /tmp", "mv ./* /tmp/trash", "mv -f ./* /var/tmp/x"],
    misses: ["mv a.txt /tmp", "mv *.log /tmp/logs", "mv * ../archive"],
  }),
  rule({
    id: "filesystem.truncate",
    title: "Truncate a file",
    commands: ["truncate"],
    match: (command) =>
      !emptiesLogs(command) &&
      (hasOption(command, "-s0", "--size=0") ||
        command.args.some((arg) => arg === "0" || arg.startsWith("-s"))) &&
      !makesImage(command),
    weight: [2, 5],
    threat: "data_loss",
    explanation: "It truncates a file and loses the rest of it.",
    safer: "Copy the file first, or rotate it.",
    hits: ["truncate -s 0 prod.db", "truncate -s0 /srv/data/orders.csv"],
    misses: ["truncate -s 0 app.log", "truncate --help"],
  }),
  rule({
    id: "filesystem.empties_file",
    title: "Overwrite a system file or database with nothing",
    commands: ["cp", "dd", "install", "fallocate"],
    match: emptiesFile,
    weight: [4, 4],
    threat: "data_loss",
    explanation: "It writes nothing, or noise, over a file that belongs to the system.",
    safer: "Stop the program that uses it, and keep a copy.",
    hits: [
      "cp /dev/null /var/lib/dpkg/status",
      "dd if=/dev/zero of=/var/lib/mysql/ibdata1 bs=1M count=1",
    ],
    misses: ["cp /dev/null app.log", "fallocate -l 1024 x"],
  }),
  rule({
    id: "filesystem.open_everything",
    title: "Change permissions of a system or home folder",
    commands: ["chmod", "chown", "chgrp", "setfacl", "icacls", "takeown", "chattr"],
    match: (command) => changesTree(command, (path) => !HOLDS_DATA.test(normalizePath(path))),
    evenRehearsed: true,
    weight: [5, 4],
    threat: "permission_change",
    explanation:
      "It changes the permissions of a whole system or home folder, which cannot be undone by one command.",
    safer: "Change the one file or folder that needs it.",
    hits: ["chown -R nobody /usr", "takeown /f C:\\Windows /r"],
    misses: ["chown anna notes.txt", "chmod -R g+w public"],
  }),
  rule({
    id: "filesystem.change_tree",
    title: "Change permissions of a service's data",
    commands: ["chmod", "chown", "chgrp"],
    match: (command) => changesTree(command, (path) => HOLDS_DATA.test(normalizePath(path))),
    evenRehearsed: true,
    weight: [3, 3],
    threat: "permission_change",
    explanation: "It changes the permissions of all data of a service or a person.",
    safer: "Note the owner and mode of what is there first: getfacl -R.",
    hits: ["chown -R mysql:mysql /var/lib/mysql", "chmod -R u=rwX,g=rX /var/www"],
    misses: ["chown www-data logo.png", "chmod 644 README.md"],
  }),
  rule({
    id: "filesystem.world_writable",
    title: "Let every user change files",
    commands: ["chmod"],
    match: (command) => {
      const mode = operands(command)[0] ?? "";
      const open = mode.endsWith("777") || mode.endsWith("666") || mode.includes("a+rwx") ||
        mode.includes("o+w") || mode.includes("a+w");
      const bare = command.args.some((arg) => arg === "-R" || arg === "--recursive");
      return open &&
        (bare || operands(command).slice(1).some((path) => holdsSystem(path, command.cwd)));
    },
    evenRehearsed: true,
    weight: [3, 3],
    threat: "permission_change",
    explanation: "It lets every user of the machine change these files.",
    safer: "Give the one user or group that needs it the right: chmod g+w.",
    hits: ["chmod -R 777 /", "chmod -R a+w /srv"],
    misses: ["chmod 755 deploy.sh", "find . -type f -name '*.sh' -exec chmod +x {} +"],
  }),
  rule({
    id: "filesystem.edit_tree",
    title: "Edit every file below a system folder",
    commands: ["sed", "gsed", "perl", "chmod", "chown", "chgrp"],
    match: (command) => {
      const targets = operands(command).slice(1);
      if (command.name.startsWith("ch")) return targets.some(isBelowSystem);
      return hasFlag(command, "i", "in-place") &&
        targets.some((path) => isBelowSystem(path) || classifyPath(path) === "system");
    },
    weight: [4, 4],
    threat: "system_change",
    explanation: "It changes every file that is found below a folder of the system.",
    safer: "Name the files.",
    hits: [
      "find /etc -type f | xargs sed -i 's/a/b/'",
      "find / -perm -4000 -exec chmod u-s {} \\;",
    ],
    misses: ["sed -i 's/a/b/' config.yml", "perl -pe 's/&$/x/' f"],
  }),
  rule({
    id: "filesystem.sync_deletes",
    title: "Mirror a folder and delete what is missing",
    commands: ["rsync", "robocopy"],
    evenRehearsed: true,
    match: (command) =>
      !isRehearsal(command) &&
      (command.args.some((arg) => MIRRORS.has(arg.toLowerCase())) ||
        command.args.includes("--remove-source-files") ||
        (command.args.some((arg) => arg.startsWith("--del")) && !syncsRegenerable(command))),
    weight: [3, 4],
    threat: "data_loss",
    explanation: "It deletes files on one side that are missing on the other.",
    safer: "Run it with --dry-run first, or keep deleted files with --backup.",
    hits: [
      "rsync -a --delete /tmp/empty/ /var/lib/postgresql/",
      "robocopy C:\\empty C:\\data /mir",
    ],
    misses: ["rsync -avn --delete src/ dst/", "robocopy src dst /e"],
  }),
];

/** `truncate -s 0 app.log` equals `> app.log`. */
function emptiesLogs(command: SimpleCommand): boolean {
  const files = operands(command, SIZED);
  return files.length > 0 &&
    files.every((file) =>
      file.endsWith(".log") &&
      ["local_file", "regenerable"].includes(classifyPath(locate(command.cwd, file)))
    );
}

/** `truncate -s 1G disk.img` makes an image of a disk; `-s +1G` and `-s '>1G'` only let a file grow. */
function makesImage(command: SimpleCommand): boolean {
  const sizes = optionValues(command, "-s", "--size");
  if (sizes.length === 0 || sizes.some((size) => !/^[+>]?[1-9]\d*[KMGTP]?i?B?$/.test(size))) {
    return false;
  }
  if (sizes.every((size) => size.startsWith("+") || size.startsWith(">"))) return true;
  return operands(command, SIZED).every((file) =>
    /\.(?:img|raw|swap|ext4)$/.test(file) &&
    ["local_file", "temporary"].includes(classifyPath(locate(command.cwd, file)))
  );
}

const SIZED = new Set(["-s", "--size"]);
const TEMPORARY = new Set(["/tmp", "/tmp/", "/var/tmp", "/var/tmp/", "/dev/shm"]);
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

/** Options by which robocopy deletes. */
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

/** The data of one service or person; handing it to its owner is daily work. */
const HOLDS_DATA =
  /^(?:\/(?:opt|srv|mnt|media|data|home\/[\w.-]+|var\/(?:www|lib\/(?:mysql|postgresql)))|~)$/;
