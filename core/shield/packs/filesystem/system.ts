import { once, type Rule, rule, type SimpleCommand } from "../rule.ts";
import { hasFlag, hasOption, operands, optionValues } from "../../programs/arguments.ts";
import { isWholeFolder } from "../../programs/bulk.ts";
import { writtenPaths } from "../../programs/effects.ts";
import { changesFolders, tarFolders } from "../../programs/families/archives.ts";
import { isSecret } from "../../programs/secrets.ts";
import { holdsSystem, isVital, locate, normalizePath } from "../../programs/paths.ts";

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

const isMountedBase = (path: string): boolean =>
  path !== "/home" && isBase(path) || path === "/boot/efi";

const MOUNT_VALUED = new Set(["-o", "--options", "-t", "--types", "-L", "-U", "-O"]);

/** The options of a mount, one by one. */
const mountOptions = (command: SimpleCommand): readonly string[] =>
  optionValues(command, "-o", "--options").flatMap((value) => value.split(","));

/** `--fake` only says what it would do. */
const isFake = (command: SimpleCommand): boolean => hasFlag(command, "f", "fake");

/** Whether a file system is put somewhere else, and may be written to. */
function mountsMore(command: SimpleCommand): boolean {
  const options = mountOptions(command);
  const all = hasFlag(command, "a", "all") || hasOption(command, "--move", "-M");
  return (all || operands(command, MOUNT_VALUED).length > 1) && !options.includes("ro") &&
    !hasFlag(command, "r", "read-only");
}

const SHARES = /^--make-r?shared$/;

function mountsOver(command: SimpleCommand): boolean {
  if (isFake(command)) return false;
  if (command.args.some((arg) => SHARES.test(arg))) return true;
  const words = operands(command, MOUNT_VALUED);
  const target = words.at(-1) ?? "";
  const options = mountOptions(command);
  const binds = hasOption(command, "--bind", "--rbind", "-B", "-R", "--move", "-M") ||
    options.includes("bind") || options.includes("rbind");
  if (binds && (holdsSystem(target, command.cwd) || words[0] === "/")) return true;
  return words.length > 0 && isBase(target) && (words.length > 1 || options.includes("remount"));
}

/** Whether a mount lets programs run, keep their owner's rights, or files change, where they could not before. */
function opensMount(command: SimpleCommand): boolean {
  if (isFake(command)) return false;
  const options = mountOptions(command);
  return options.includes("suid") || options.includes("dev") && options.length > 1 ||
    options.includes("remount") && ["rw", "exec", "dev"].some((one) => options.includes(one));
}

/** Whether a command unpacks into a folder on which the system stands: it writes `/etc/x` for `/etc`. */
const restoresOver = (command: SimpleCommand): boolean =>
  once(command, writtenPaths).some((path) =>
    path.endsWith("/x") && isBase(normalizePath(locate(command.cwd, path.slice(0, -1))))
  );

function extractsOver(command: SimpleCommand): boolean {
  const first = command.args[0] ?? "";
  switch (command.name) {
    case "tar":
    case "gtar":
    case "bsdtar":
      return (hasFlag(command, "x", "extract", "get") ||
        (!first.startsWith("-") && first.includes("x"))) &&
        (hasFlag(command, "P", "absolute-names") ||
          (changesFolders(command)
            ? tarFolders(command)
            : optionValues(command, "-C", "--directory")).some(isBase));
    case "unzip":
      return !hasFlag(command, "lptvzZ") && optionValues(command, "-d").some(isBase);
    default:
      return false;
  }
}

const RESTORERS = [
  ...["unzip", "cpio", "7z", "7za", "7zr", "7zz", "unrar", "rar", "unar", "ar", "dpkg", "dpkg-deb"],
  ...["restic", "borg", "tarsnap", "duplicity", "rdiff-backup", "kopia", "patch"],
];

/** The system's own files, mounts and clock. */
export const SYSTEM_RULES: readonly Rule[] = [
  rule({
    id: "filesystem.extract_over_system",
    title: "Unpack an archive over system folders",
    commands: ["tar", "gtar", "bsdtar", ...RESTORERS],
    match: (command) => restoresOver(command) || extractsOver(command),
    weight: [4, 4],
    threat: "system_tampering",
    explanation: "It unpacks an archive over the system's own folders.",
    safer: "Unpack it into an empty folder, compare, and copy what is needed.",
    hits: [
      "tar -C / -xzf backup.tgz",
      "unzip -d /etc site.zip",
      "restic restore latest --target /",
      "cd / && borg extract /backup::latest",
      "dpkg-deb -x x.deb /",
    ],
    misses: [
      "tar xzf release.tgz",
      "unzip -l site.zip",
      "restic restore latest --target /tmp/restore",
      "borg extract --dry-run /repo::a",
    ],
  }),
  rule({
    id: "filesystem.system_attributes",
    title: "Change attributes of a system file",
    commands: ["chattr", "setfacl", "chflags"],
    match: (command, words) =>
      words.some((path) => isBase(path) || holdsSystem(path, command.cwd)) &&
      !hasOption(command, "--get"),
    weight: [4, 2],
    threat: "permission_change",
    explanation: "It changes who may read or change a file of the system.",
    safer: "Change the file through configuration that is reviewed.",
    hits: ["chattr -i /etc/passwd", "setfacl -m u:nobody:rwx /etc/shadow"],
    misses: ["chattr +i notes.txt", "setfacl -m u:anna:r report.pdf"],
  }),
  rule({
    id: "filesystem.system_owner",
    title: "Change the owner or mode of a system file",
    commands: ["chmod", "chown", "chgrp"],
    match: ({ cwd }, words) =>
      words.slice(1).some((path) => isBase(locate(cwd, path)) || isVital(path, cwd)),
    weight: [4, 2],
    threat: "permission_change",
    explanation: "It changes who may use a folder or a program that the system needs.",
    safer: "Leave it as its package installed it.",
    hits: ["chmod u+s /bin/bash", "chown nobody /etc"],
    misses: ["chown anna notes.txt", "chgrp staff shared.txt"],
  }),
  rule({
    id: "filesystem.opens_secret",
    title: "Let others read a key or use a control socket",
    commands: ["chmod", "setfacl"],
    match: (command, words) => {
      const opens = command.name === "setfacl"
        ? optionValues(command, "-m", "--modify").length > 0
        : opensOthers(words[0] ?? "");
      const paths = words.slice(command.name === "setfacl" ? 0 : 1);
      return opens && paths.some((path) => isSecret(path) || SOCKETS.test(path)) ||
        optionValues(command, "--reference").length > 0 &&
          words.some((path) => isVital(path, command.cwd));
    },
    weight: [4, 2],
    threat: "permission_change",
    explanation: "It lets other users read a key, or use a socket that gives the rights of root.",
    safer: "Keep it for its owner alone: chmod 600.",
    hits: [
      "chmod 644 ~/.ssh/id_rsa",
      "chmod a+rw /var/run/docker.sock",
      "chmod --reference=/tmp/open /etc/sudoers",
    ],
    misses: ["chmod 600 ~/.ssh/id_ed25519", "chmod -R go-rwx ~/.gnupg", "chmod 644 README.md"],
  }),
  rule({
    id: "persistence.install_setuid",
    title: "Install a program with its owner's rights",
    commands: ["install", "ginstall"],
    match: (command) =>
      optionValues(command, "-m", "--mode").some((mode) =>
        /^0*[2-7][0-7]{3}$|[+=][rwxX]*s/.test(mode)
      ),
    weight: [4, 4],
    threat: "privilege_escalation",
    explanation: "It installs a program that runs with its owner's rights, whoever starts it.",
    safer: "Give the right through sudo, for one command.",
    hits: [
      "install -m 4755 sh /usr/local/bin/rootsh",
      "install -m u+s helper /opt/app/helper",
      "sudo install -m =xs /usr/bin/env .",
    ],
    misses: ["install -m 755 relay bin/relay", "install -d public/assets"],
  }),
  rule({
    id: "disks.mount_over",
    title: "Mount over a system folder",
    commands: ["mount", "umount"],
    match: (command, words) =>
      command.name === "umount"
        ? !hasOption(command, "--fake") && hasFlag(command, "lf", "lazy", "force") ||
          words.some(isMountedBase)
        : mountsOver(command),
    weight: [4, 2],
    threat: "system_tampering",
    explanation:
      "It mounts another file system over a folder that the system uses, or unmounts it.",
    safer: "Mount it on an empty folder below /mnt.",
    hits: [
      "mount --bind /tmp/fake /etc",
      "umount -lf /data",
      "mount / -o remount,rw",
      "mount -o bind /tmp/x /bin/ls",
      "umount /proc",
    ],
    misses: ["mount -o ro /dev/sdb1 /mnt", "umount /mnt/usb"],
  }),
  rule({
    id: "disks.mount_more",
    title: "Mount a file system that may be written",
    commands: ["mount"],
    match: (command) => !isFake(command) && mountsMore(command),
    weight: [4, 2],
    threat: "system_tampering",
    explanation: "It mounts file systems on a running machine, over what the folders hold now.",
    safer: "Mount it read-only with -o ro, or change /etc/fstab through review.",
    hits: [
      "sudo mount -t nfs4 10.0.3.9:/exports/media /mnt/media",
      "mount -a",
      "mount --move /srv/old /srv/new",
    ],
    misses: ["mount -o ro /dev/sdb1 /mnt", "mount -fav", "mount -l -t ext4,xfs", "mount"],
  }),
  rule({
    id: "disks.mount_opens",
    title: "Mount with more rights",
    commands: ["mount"],
    match: opensMount,
    weight: [4, 2],
    threat: "permission_change",
    explanation: "It lets files change, programs run or keep their owner's rights on a mount.",
    safer: "Mount it with nosuid, nodev and noexec, or change /etc/fstab through review.",
    hits: [
      "mount -o remount,exec /tmp",
      "mount -o rw,remount,exec,suid,dev /home",
      "mount --options=remount,rw /usr",
      "mount -o suid /dev/sdb1 /mnt/x",
    ],
    misses: [
      "mount -o ro /dev/sdb1 /mnt",
      "mount -o remount,noexec /tmp",
      "mount",
      "mount -t ext4",
    ],
  }),
  rule({
    id: "services.clock",
    title: "Change the machine's clock",
    commands: ["timedatectl", "date", "hwclock", "set-date"],
    match: (command, words) =>
      command.name === "date"
        ? hasFlag(command, "s", "set")
        : command.name === "hwclock"
        ? hasOption(command, "--set", "--hctosys", "-s")
        : command.name === "set-date" || (words[0] ?? "").startsWith("set-t"),
    weight: [3, 3],
    threat: "system_tampering",
    explanation: "It changes the machine's clock, on which certificates, logs and schedules rest.",
    safer: "Let the time service set the clock.",
    hits: ["date -s '2001-01-01'", "timedatectl set-time '2001-01-01'"],
    misses: ["date -u +%FT%TZ", "timedatectl status"],
  }),
  rule({
    id: "services.kill_users",
    title: "Kill every process of a user",
    commands: ["fuser", "loginctl", "pkill", "killall", "skill", "slay"],
    match: (command, words) =>
      command.name === "fuser"
        ? hasFlag(command, "k") &&
          (hasFlag(command, "mM") || words.some((path) => isWholeFolder(command, path)))
        : command.name === "loginctl"
        ? ["terminate-user", "kill-user", "terminate-seat"].includes(words[0] ?? "")
        : hasFlag(command, "uU", "user", "euid", "uid") && killsAll(command),
    weight: [4, 3],
    threat: "service_disruption",
    explanation: "It kills every process of a user or of a file system.",
    safer: "Kill the one process by its number.",
    hits: ["pkill -9 -u postgres", "loginctl terminate-user anna"],
    misses: ["loginctl list-sessions", "pgrep -u postgres"],
  }),
];

const SOCKETS =
  /\/(?:docker|containerd|podman|crio|libvirt-sock|lxd\/unix)[\w.-]*\.socket?$|\/docker\.sock$/;

/** Whether a mode gives a right to the group or to everybody. */
function opensOthers(mode: string): boolean {
  if (/^[0-7]+$/.test(mode)) return (parseInt(mode, 8) & 0o066) !== 0;
  return mode.split(",").some((clause) => /^(?:[ugo]*[goa][ugoa]*)?[+=][rwxX]*[rw]/.test(clause));
}

/** `pkill -u name` without a process name. */
function killsAll(command: SimpleCommand): boolean {
  const valued = new Set(["-u", "-U", "--user", "--euid", "--uid", "-s", "--signal"]);
  return operands(command, valued).length === 0;
}
