import { once, type Rule, rule, type SimpleCommand } from "./rule.ts";
import { hasFlag, hasOption, isRehearsal, operands, optionValues } from "../programs/arguments.ts";
import { writtenPaths } from "../programs/effects.ts";
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

const isDiskFor = (command: SimpleCommand) => (path: string): boolean =>
  isDisk(locate(command.cwd, path));

function namesDisk(command: SimpleCommand): boolean {
  return operands(command).some(isDiskFor(command));
}

function lists(command: SimpleCommand): boolean {
  // A cmdlet's options are words, and no letters.
  if (command.name.includes("-")) return isRehearsal(command);
  return isRehearsal(command) || hasFlag(command, "lx", "list", "print", "no-act") ||
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
  rule({
    id: "disks.write_device",
    title: "Write to a disk",
    commands: ["dd", "dcfldd", "dc3dd", "ddrescue", "pv", "tar", "gtar", "bsdtar"],
    match: (command) =>
      command.name.endsWith("tar") && once(command, writtenPaths).some(isDiskFor(command)) ||
      isDiskFor(command)(command.args.findLast((arg) => arg.startsWith("of="))?.slice(3) ?? "") ||
      (command.name === "ddrescue" && isDiskFor(command)(operands(command)[1] ?? "")),
    evenRehearsed: true,
    weight: [5, 5],
    threat: "disk_destruction",
    explanation: EXPLAIN,
    safer: SAFER,
    hits: [
      "dd if=image.iso of=/dev/sdb",
      "sudo tar cvf /dev/sdb .",
      "pv image.img | dd of=/dev/sdb",
    ],
    misses: ["dd if=/dev/zero of=/dev/null", "dd if=/dev/zero of=disk.img bs=1M count=64"],
  }),
  rule({
    id: "disks.redirect_to_device",
    title: "Redirect output to a disk",
    commands: null,
    also: ["redirected"],
    match: (command) =>
      command.redirections.some(({ operator, target }) =>
        operator.includes(">") && !isDescriptor(target) && isDiskFor(command)(target)
      ),
    evenRehearsed: true,
    weight: [5, 5],
    threat: "disk_destruction",
    explanation: EXPLAIN,
    safer: SAFER,
    hits: ["cat image.iso > /dev/sdb", "cat /dev/zero > /dev/sda"],
    misses: ["cat image.iso > /dev/null", "cat image.iso > copy.iso"],
  }),
  rule({
    id: "disks.copy_to_device",
    title: "Copy a file over a disk",
    commands: [
      "cp",
      "mv",
      "tee",
      "install",
      "sponge",
      "cat",
      "rm",
      "truncate",
      "fallocate",
    ],
    match: (command) => {
      if (command.name === "cat") return false;
      const paths = command.name === "cp" || command.name === "mv"
        ? operands(command).slice(-1)
        : operands(command);
      return paths.some(isDiskFor(command));
    },
    evenRehearsed: true,
    weight: [5, 5],
    threat: "disk_destruction",
    explanation: EXPLAIN,
    safer: SAFER,
    hits: ["cp image.iso /dev/sdb", "tee /dev/sda < image.iso"],
    misses: ["cp image.iso /mnt/usb/", "tee out.log < in.log"],
  }),
  rule({
    id: "disks.format",
    title: "Format a disk",
    commands: MAKERS,
    match: (command) =>
      operands(command).length > 0 && !lists(command) && !formatsFile(command) &&
      (command.name !== "bcachefs" || command.args[0] === "format"),
    evenRehearsed: true,
    weight: [5, 5],
    threat: "disk_destruction",
    explanation: "It creates a new file system and loses the old one.",
    safer: SAFER,
    hits: [
      "mkfs.ext4 /dev/sdb1",
      "mkfs.xfs -f /dev/sdc1",
      "Format-Volume -DriveLetter D -Confirm:$false",
    ],
    misses: ["mkfs.ext4 -F disk.img", "lsblk -f", "bcachefs fs usage /srv"],
  }),
  rule({
    id: "disks.format_file",
    title: "Format a file system or swap in a file",
    commands: MAKERS,
    match: (command) =>
      !lists(command) && formatsFile(command) && !operands(command, MAKER_VALUED).every(isOwnFile),
    evenRehearsed: true,
    weight: [2, 4],
    threat: "disk_destruction",
    explanation: "It makes a new file system, or swap, over a file.",
    safer: SAFER,
    hits: ["mkswap /swapfile", "mkswap -f /swapfile"],
    misses: ["mkfs -t ext4 /tmp/disk.img", "swapon --show"],
  }),
  rule({
    id: "disks.format_drive",
    title: "Format a Windows drive",
    commands: ["format"],
    match: (command) => operands(command).some((arg) => arg.length <= 3 && arg.endsWith(":")),
    evenRehearsed: true,
    weight: [5, 5],
    threat: "disk_destruction",
    explanation: EXPLAIN,
    safer: SAFER,
    hits: ["format c: /q", "cmd /c format d: /q /y"],
    misses: ["format disk --help", "cmd /c dir C:\\"],
  }),
  rule({
    id: "disks.wipe",
    title: "Wipe a disk",
    commands: [
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
    ],
    match: wipes,
    evenRehearsed: true,
    weight: [5, 5],
    threat: "disk_destruction",
    explanation: EXPLAIN,
    safer: SAFER,
    hits: ["wipefs -a /dev/sdb", "blkdiscard /dev/nvme1n1"],
    misses: ["hdparm -tT /dev/sda", "wipefs --help"],
  }),
  rule({
    id: "disks.partition",
    title: "Change a partition table",
    commands: [
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
    match: partitions,
    evenRehearsed: true,
    weight: [5, 4],
    threat: "disk_destruction",
    explanation: "It changes the partition table; a mistake loses every file system on the disk.",
    safer: SAFER,
    hits: ["sgdisk --zap-all /dev/sda", "parted /dev/sda mklabel gpt"],
    misses: ["fdisk -l", "parted /dev/sda print"],
  }),
  rule({
    id: "disks.remove_volume",
    title: "Remove a volume or a pool",
    commands: [
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
    match: removesVolume,
    evenRehearsed: true,
    weight: [4, 5],
    threat: "disk_destruction",
    explanation: "It removes a volume or a pool with all its data.",
    safer: SAFER,
    hits: ["vgremove -f vg0", "zpool destroy tank"],
    misses: ["zfs list -t snapshot", "mdadm --detail /dev/md0"],
  }),
  rule({
    id: "disks.resize_volume",
    title: "Shrink a volume",
    commands: ["lvresize", "resize2fs"],
    match: (command) =>
      command.name === "resize2fs"
        ? operands(command).length > 1 || hasFlag(command, "M")
        : [...optionValues(command, "-L", "--size"), ...optionValues(command, "-l", "--extents")]
          .some((size) => !size.startsWith("+")) && !hasFlag(command, "t", "test"),
    evenRehearsed: true,
    weight: [3, 4],
    threat: "disk_destruction",
    explanation: "It sets a size; a smaller size cuts off data.",
    safer: SAFER,
    hits: ["lvresize -L 1G -f vg/root", "resize2fs /dev/vg/root 1G"],
    misses: ["lvresize -L +10G vg/data", "resize2fs /dev/vg/root"],
  }),
  rule({
    id: "disks.unmount",
    title: "Unmount every file system or swap",
    commands: ["umount", "swapoff"],
    match: (command) =>
      hasFlag(command, "a", "all") ||
      ["/", "/home", "/var", "/usr", "/boot"].includes(operands(command)[0] ?? ""),
    evenRehearsed: true,
    weight: [4, 2],
    threat: "disk_destruction",
    explanation: "It takes file systems or swap away from running programs.",
    safer: SAFER,
    hits: ["swapoff -a", "umount -a"],
    misses: ["umount /mnt/usb", "mount"],
  }),
  rule({
    id: "disks.repair_mounted",
    title: "Change a file system in place",
    commands: ["fsck", "e2fsck", "xfs_repair", "debugfs", "tune2fs"],
    match: (command) =>
      namesDisk(command) && !hasFlag(command, "nN") &&
      (command.name !== "tune2fs" || !hasFlag(command, "l")) &&
      (command.name !== "debugfs" || hasFlag(command, "w")),
    evenRehearsed: true,
    weight: [4, 3],
    threat: "disk_destruction",
    explanation: "It changes a file system in place; on a mounted one it destroys data.",
    safer: SAFER,
    hits: ["fsck -y /dev/sda1", "tune2fs -O ^has_journal /dev/sda1"],
    misses: ["fsck -n /dev/sda1", "tune2fs -l /dev/sda1"],
  }),
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
