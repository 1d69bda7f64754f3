import { hasFlag, hasOption, isRehearsal, operands, optionValues } from "../programs/arguments.ts";
import type { Blast, Irreversibility, Rule, SimpleCommand } from "../model.ts";
import {
  classifyPath,
  hasGlob,
  isDescriptor,
  isDisk,
  locate,
  type PathKind,
} from "../programs/paths.ts";

const EXPLAIN = "It overwrites a disk, and everything on it is lost.";
const SAFER = "Check the device with lsblk, and write to a file or a loop image first.";

function disk(
  id: string,
  commands: readonly string[] | null,
  match: (command: SimpleCommand) => boolean,
  weight: readonly [Blast, Irreversibility] = [5, 5],
  explanation = EXPLAIN,
): Rule {
  return {
    id: `disks.${id}`,
    pack: "disks",
    commands,
    ...(commands === null && { also: ["redirected"] as const }),
    match,
    blast: weight[0],
    irreversibility: weight[1],
    threat: "disk_destruction",
    explanation,
    safer_alternative: SAFER,
  };
}

const isDiskFor = (command: SimpleCommand) => (path: string): boolean =>
  isDisk(locate(command.cwd, path));

function namesDisk(command: SimpleCommand): boolean {
  return operands(command).some(isDiskFor(command));
}

function lists(command: SimpleCommand): boolean {
  return isRehearsal(command) || hasFlag(command, "l", "list", "print", "no-act") ||
    command.args.includes("print");
}

const MAKERS = [
  "mkfs",
  "mkfs.ext2",
  "mkfs.ext3",
  "mkfs.ext4",
  "mkfs.xfs",
  "mkfs.btrfs",
  "mkfs.vfat",
  "mkfs.fat",
  "mkfs.ntfs",
  "mkfs.exfat",
  "mkfs.f2fs",
  "mkfs.minix",
  "mkfs.cramfs",
  "mkfs.msdos",
  "mkfs.jfs",
  "mkfs.reiserfs",
  "mke2fs",
  "mkswap",
  "mkdosfs",
  "mkntfs",
  "newfs",
  "newfs_hfs",
  "newfs_msdos",
  "format.com",
  "format-volume",
  "clear-disk",
  "initialize-disk",
  "diskpart",
  "mkfs.bcachefs",
  "bcachefs",
];

/** `mkswap /swapfile`, `mkfs.ext4 disk.img`: no operand may be a device, its label, or what nobody knows. */
function formatsFile(command: SimpleCommand): boolean {
  const paths = operands(command, MAKER_VALUED).map((path) => locate(command.cwd, path));
  return (command.name.startsWith("mkfs") || command.name === "mkswap") &&
    command.name !== "mkfs.btrfs" && paths.length === 1 &&
    FILE_KINDS.has(classifyPath(paths[0]!)) && !hasGlob(paths[0]!) &&
    !paths[0]!.includes("=") && !isDisk(paths[0]!);
}

const MAKER_VALUED = new Set(["-t", "--type", "-L", "--label", "-U", "-O", "-b", "-m", "-n"]);
const FILE_KINDS = new Set<PathKind>(["elsewhere", "local_file", "temporary", "regenerable"]);
const isOwnFile = (path: string): boolean => classifyPath(path) !== "elsewhere";

/** Disks, partitions and volumes. */
export const DISK_RULES: readonly Rule[] = [
  disk(
    "write_device",
    ["dd", "dcfldd", "dc3dd", "ddrescue", "pv"],
    (command) =>
      command.args.some((arg) => arg.startsWith("of=") && isDiskFor(command)(arg.slice(3))) ||
      (command.name === "ddrescue" && isDiskFor(command)(operands(command)[1] ?? "")),
  ),
  disk(
    "redirect_to_device",
    null,
    (command) =>
      command.redirections.some(({ operator, target }) =>
        operator.includes(">") && !isDescriptor(target) && isDiskFor(command)(target)
      ),
  ),
  disk("copy_to_device", [
    "cp",
    "mv",
    "tee",
    "install",
    "sponge",
    "cat",
    "rm",
    "truncate",
    "fallocate",
  ], (command) => {
    if (command.name === "cat") return false;
    const paths = command.name === "cp" || command.name === "mv"
      ? operands(command).slice(-1)
      : operands(command);
    return paths.some(isDiskFor(command));
  }),
  disk(
    "format",
    MAKERS,
    (command) => operands(command).length > 0 && !lists(command) && !formatsFile(command),
    [5, 5],
    "It makes a new file system over whatever is there.",
  ),
  disk(
    "format_file",
    MAKERS,
    (command) =>
      !lists(command) && formatsFile(command) && !operands(command, MAKER_VALUED).every(isOwnFile),
    [2, 4],
    "It makes a new file system, or swap, over a file.",
  ),
  disk(
    "format_drive",
    ["format"],
    (command) => operands(command).some((arg) => arg.length <= 3 && arg.endsWith(":")),
  ),
  disk("wipe", [
    "wipefs",
    "blkdiscard",
    "shred",
    "badblocks",
    "hdparm",
    "nvme",
    "sg_format",
    "sg_sanitize",
    "scrub",
    "nwipe",
    "dban",
  ], wipes),
  disk(
    "partition",
    [
      "fdisk",
      "sfdisk",
      "cfdisk",
      "gdisk",
      "sgdisk",
      "parted",
      "cgdisk",
      "gpart",
      "partx",
      "diskutil",
    ],
    partitions,
    [5, 4],
    "It changes the partition table; a mistake loses every file system on the disk.",
  ),
  disk(
    "remove_volume",
    [
      "lvremove",
      "vgremove",
      "pvremove",
      "lvreduce",
      "zpool",
      "zfs",
      "btrfs",
      "mdadm",
      "dmsetup",
      "cryptsetup",
      "lvm",
      "multipath",
      "vgreduce",
    ],
    removesVolume,
    [4, 5],
    "It removes a volume or a pool with all that it holds.",
  ),
  disk(
    "resize_volume",
    ["lvresize", "resize2fs"],
    (command) =>
      command.name === "resize2fs"
        ? operands(command).length > 1 || hasFlag(command, "M")
        : [...optionValues(command, "-L", "--size"), ...optionValues(command, "-l", "--extents")]
          .some((size) => !size.startsWith("+")) && !hasFlag(command, "t", "test"),
    [3, 4],
    "It sets a size, and one that is smaller cuts off data.",
  ),
  disk(
    "unmount",
    ["umount", "swapoff"],
    (command) =>
      hasFlag(command, "a", "all") ||
      ["/", "/home", "/var", "/usr", "/boot"].includes(operands(command)[0] ?? ""),
    [4, 2],
    "It takes file systems or swap away from running programs.",
  ),
  disk(
    "repair_mounted",
    ["fsck", "e2fsck", "xfs_repair", "debugfs", "tune2fs"],
    (command) =>
      namesDisk(command) && !hasFlag(command, "nN") &&
      (command.name !== "tune2fs" || !hasFlag(command, "l")) &&
      (command.name !== "debugfs" || hasFlag(command, "w")),
    [4, 3],
    "It changes a file system in place; on a mounted one it destroys data.",
  ),
];

function wipes(command: SimpleCommand): boolean {
  if (isRehearsal(command)) return false;
  switch (command.name) {
    case "wipefs":
      return hasFlag(command, "ao", "all", "offset") && !hasFlag(command, "n", "no-act");
    case "badblocks":
      return hasFlag(command, "w");
    case "hdparm":
      return command.args.some((arg) =>
        arg.startsWith("--security-erase") || arg.startsWith("--trim") ||
        arg.startsWith("--write-sector")
      );
    case "nvme":
      return ["format", "sanitize", "write-zeroes", "delete-ns"].includes(command.args[0] ?? "");
    case "blkdiscard":
    case "sg_format":
    case "sg_sanitize":
    case "nwipe":
    case "dban":
      return true;
    default:
      return namesDisk(command);
  }
}

function partitions(command: SimpleCommand): boolean {
  if (lists(command)) return false;
  if (command.name === "diskutil") {
    const verb = (command.args[0] ?? "").toLowerCase();
    return verb.startsWith("erase") || verb.startsWith("partition") || verb.startsWith("zero") ||
      verb.startsWith("secureerase") ||
      verb === "reformat" ||
      (verb === "apfs" && (command.args[1] ?? "").toLowerCase().startsWith("delete"));
  }
  if (command.name === "sgdisk") {
    return hasFlag(command, "Zodn", "zap-all", "zap", "clear", "delete", "new");
  }
  if (command.name === "sfdisk" && hasFlag(command, "dJ", "dump", "json", "show-size")) {
    return false;
  }
  return namesDisk(command);
}

function removesVolume(command: SimpleCommand): boolean {
  if (isRehearsal(command) || hasFlag(command, "t", "test")) return false;
  const words = operands(command);
  switch (command.name) {
    case "zpool":
      return ["destroy", "labelclear", "remove", "detach"].includes(words[0] ?? "");
    case "zfs":
      return (words[0] === "destroy" || words[0] === "rollback") && !hasFlag(command, "n");
    case "btrfs":
      return words.includes("delete") || words.includes("remove");
    case "mdadm":
      return hasOption(command, "--zero-superblock", "--stop", "--remove", "--create", "-S", "-C");
    case "dmsetup":
      return ["remove", "remove_all", "wipe_table", "clear"].includes(words[0] ?? "");
    case "cryptsetup":
      return ["luksformat", "erase", "lukserase", "lukskillslot", "luksremovekey", "reencrypt"]
        .includes((words[0] ?? "").toLowerCase());
    case "lvm":
      return ["lvremove", "vgremove", "pvremove"].includes(words[0] ?? "");
    case "multipath":
      return hasFlag(command, "F");
    default:
      return true;
  }
}
