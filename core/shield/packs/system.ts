import { hasFlag, hasOption, operands, optionValues } from "../programs/arguments.ts";
import { isWholeFolder } from "../programs/bulk.ts";
import type { Rule, SimpleCommand } from "../model.ts";
import { holdsSystem, isVital, locate } from "../programs/paths.ts";
import { defineRule } from "./define.ts";

/** Folders on which a running system stands. */
const BASES = new Set([
  "/",
  "/bin",
  "/boot",
  "/dev",
  "/etc",
  "/home",
  "/lib",
  "/proc",
  "/root",
  "/sbin",
  "/sys",
  "/usr",
  "/var",
]);

function isBase(path: string): boolean {
  return BASES.has(path) || (path.length > 1 && BASES.has(path.slice(0, -1)));
}

function extractsOver(command: SimpleCommand): boolean {
  const first = command.args[0] ?? "";
  switch (command.name) {
    case "tar":
    case "gtar":
    case "bsdtar":
      return (hasFlag(command, "x", "extract", "get") ||
        (!first.startsWith("-") && first.includes("x"))) &&
        (hasFlag(command, "P", "absolute-names") ||
          optionValues(command, "-C", "--directory").some(isBase));
    case "unzip":
      return optionValues(command, "-d").some(isBase);
    default:
      return hasFlag(command, "i", "extract") && isBase(command.cwd);
  }
}

/** The system's own files, mounts and clock. */
export const SYSTEM_RULES: readonly Rule[] = [
  defineRule(
    "filesystem",
    "extract_over_system",
    ["tar", "gtar", "bsdtar", "unzip", "cpio"],
    extractsOver,
    [4, 4],
    "system_tampering",
    "It unpacks an archive over the system's own folders.",
    "Unpack it into an empty folder, compare, and copy what is needed.",
  ),
  defineRule(
    "filesystem",
    "system_attributes",
    ["chattr", "setfacl", "chflags"],
    (command, words) =>
      words.some((path) => isBase(path) || holdsSystem(path, command.cwd)) &&
      !hasOption(command, "--get"),
    [4, 2],
    "permission_change",
    "It changes who may read or change a file of the system.",
    "Change the file through configuration that is reviewed.",
  ),
  defineRule(
    "filesystem",
    "system_owner",
    ["chmod", "chown", "chgrp"],
    ({ cwd }, words) =>
      words.slice(1).some((path) => isBase(locate(cwd, path)) || isVital(path, cwd)),
    [4, 2],
    "permission_change",
    "It changes who may use a folder or a program that the system needs.",
    "Leave it as its package made it.",
  ),
  defineRule(
    "persistence",
    "install_setuid",
    ["install", "ginstall"],
    (command) =>
      optionValues(command, "-m", "--mode").some((mode) =>
        (mode.length === 4 && "2467".includes(mode[0] ?? "")) || mode.includes("+s")
      ),
    [4, 4],
    "privilege_escalation",
    "It installs a program that runs with its owner's rights, whoever starts it.",
    "Give the right through sudo, for one command.",
  ),
  defineRule(
    "disks",
    "mount_over",
    ["mount", "umount"],
    (command, words) =>
      command.name === "umount"
        ? hasFlag(command, "lf", "lazy", "force")
        : words.length > 0 && isBase(words.at(-1) ?? "") &&
            (words.length > 1 ||
              optionValues(command, "-o").some((how) => how.includes("remount"))) ||
          hasOption(command, "--bind", "--rbind", "-B") &&
            holdsSystem(words.at(-1) ?? "", command.cwd),
    [4, 2],
    "system_tampering",
    "It puts another file system over a folder that the system uses, or tears one away.",
    "Mount it on an empty folder below /mnt.",
  ),
  defineRule(
    "services",
    "clock",
    ["timedatectl", "date", "hwclock", "set-date"],
    (command, words) =>
      command.name === "date"
        ? hasFlag(command, "s", "set")
        : command.name === "hwclock"
        ? hasOption(command, "--set", "--hctosys", "-s")
        : command.name === "set-date" || (words[0] ?? "").startsWith("set-t"),
    [3, 3],
    "system_tampering",
    "It changes the machine's clock, on which certificates, logs and schedules rest.",
    "Let the time service set the clock.",
  ),
  defineRule(
    "services",
    "kill_users",
    ["fuser", "loginctl", "pkill", "killall", "skill", "slay"],
    (command, words) =>
      command.name === "fuser"
        ? hasFlag(command, "k") &&
          (hasFlag(command, "mM") || words.some((path) => isWholeFolder(command, path)))
        : command.name === "loginctl"
        ? ["terminate-user", "kill-user", "terminate-seat"].includes(words[0] ?? "")
        : hasFlag(command, "uU", "user", "euid", "uid") && killsAll(command),
    [4, 3],
    "service_disruption",
    "It kills every process of a user or of a file system.",
    "Kill the one process by its number.",
  ),
];

/** `pkill -u name` without a process name. */
function killsAll(command: SimpleCommand): boolean {
  const valued = new Set(["-u", "-U", "--user", "--euid", "--uid", "-s", "--signal"]);
  return operands(command, valued).length === 0;
}
