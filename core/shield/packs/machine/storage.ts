import { hasFlag, hasOption, operands, optionValues } from "../../programs/arguments.ts";
import { changeRule, type Test } from "../production/change.ts";
import { classifyPath, locate } from "../../programs/paths.ts";

const MOUNT_VALUED = new Set(["-o", "--options", "-t", "--types", "-L", "-U", "-O", "-T", "-N"]);
const FAKE = /^(?:-[anvrwsi]*f[anvrwsi]*|--fake)$/;

/** A listing has no operands, and `-o ro` on an empty folder takes nothing from anybody. */
const mounts: Test = (command) => {
  const { args } = command;
  if (args.some((arg) => FAKE.test(arg)) || hasFlag(command, "lhV")) return false;
  if (hasFlag(command, "a", "all") || args.some((arg) => arg.startsWith("--make-"))) return true;
  const words = operands(command, MOUNT_VALUED);
  if (words.length === 0 && !hasOption(command, "-L", "-U")) return false;
  const options = optionValues(command, "-o", "--options").flatMap((value) => value.split(","));
  const isReadOnly = options.includes("ro") || hasFlag(command, "r", "read-only");
  return options.includes("remount") || !isReadOnly ||
    !/^\/(?:mnt|media|run\/media)(?:\/|$)/.test(words.at(-1) ?? "");
};

/** A stick or a disc is taken away every day. */
const unmounts: Test = (command) =>
  !hasOption(command, "--fake") &&
  (hasFlag(command, "aA", "all", "all-targets") ||
    operands(command, MOUNT_VALUED).some((path) =>
      !/^\/(?:run\/)?media\/|\/(?:usb|cdrom|dvd|iso)/.test(path) && isShared(command.cwd, path)
    ));

/** Folders of the caller's own concern nobody else. */
function isShared(cwd: string, path: string): boolean {
  const kind = classifyPath(locate(cwd, path));
  return kind !== "temporary" && kind !== "home_part" && !kind.startsWith("local");
}

const lastIsShared: Test = (command) =>
  isShared(command.cwd, operands(command, MOUNT_VALUED).at(-1) ?? "/");

const has = (test: RegExp): Test => ({ args }) => args.some((arg) => test.test(arg));

const namesDevice: Test = (command) =>
  hasFlag(command, "A") || operands(command).some((word) => /^\/|=/.test(word));

/** Mounts, swap, volumes and devices. */
export const STORAGE_CHANGES = [
  changeRule({
    id: "production.mount",
    title: "Mount or unmount on a running machine",
    changes: [
      { names: "mount", when: mounts },
      {
        names: "mount.nfs mount.nfs4 mount.cifs mount_nfs mount_smbfs mount_apfs mount.ceph " +
          "mount.glusterfs mount.fuse sshfs s3fs gcsfuse goofys",
        verbs: ["*"],
        when: lastIsShared,
      },
      { names: "umount", when: unmounts },
      { names: "fusermount fusermount3", needs: "-u -z", when: lastIsShared },
      { names: "systemd-mount systemd-umount", passes: "--list", verbs: ["*"] },
      { names: "udisksctl", verbs: ["mount|unmount|lock|unlock|loop-setup|loop-delete|power-off"] },
      { names: "automount", passes: "-m --dumpmaps -V --version" },
      {
        names: "swapon",
        passes: "-s --show --summary -V --version",
        when: ({ args }) => args.length > 0,
      },
      { names: "swapoff", passes: "-V --version", when: ({ args }) => args.length > 0 },
      {
        names: "exportfs",
        when: (command) => hasFlag(command, "arufoi") || operands(command).length > 0,
      },
      { names: "fsfreeze xfs_freeze", needs: "-f -u --freeze --unfreeze" },
      {
        names: "diskutil",
        verbs: [
          "mount|unmount|umount|mountdisk|unmountdisk|eject|rename|enablejournal|disablejournal",
          "enableownership|disableownership|resizevolume|repairvolume|repairdisk|mergepartitions",
          "apfs addvolume|resizecontainer|encryptvolume|decryptvolume|lockvolume|unlockvolume|encrypt|decrypt|changepassphrase",
        ],
      },
      {
        names: "tmutil",
        verbs: [
          "enable|disable|delete|deletelocalsnapshots|thinlocalsnapshots|setdestination|addexclusion",
          "removedestination|removeexclusion|restore|inheritbackup|associatedisk|deleteinprogress",
        ],
      },
      {
        names: "mount-diskimage dismount-diskimage set-disk set-volume set-partition " +
          "resize-partition optimize-volume new-partition add-partitionaccesspath new-smbshare " +
          "set-smbshare grant-smbshareaccess revoke-smbshareaccess new-smbmapping new-psdrive",
        passes: "-whatif -WhatIf -Whatif",
      },
      { names: "mountvol subst", verbs: ["* *"] },
    ],
    explanation: "It puts file systems or swap under running programs, or takes them away.",
    safer: "Look at findmnt first; mount --fake and -o ro change nothing.",
    hits: [
      "mount -o remount,ro /var/lib/mysql",
      "mount -t tmpfs -o size=8G tmpfs /var/cache/nginx",
      "mount -a",
      "mount --make-rshared /",
      "umount /srv/data",
      "swapon -a",
      "exportfs -ra",
      "fsfreeze -f /srv",
      "udisksctl unmount -b /dev/sdb1",
    ],
    misses: [
      "mount",
      "mount -l -t ext4,xfs",
      "mount -fav",
      "mount -o ro /dev/sdb1 /mnt",
      "umount --fake -v /data",
      "umount /mnt/usb",
      "fusermount -u ~/remote",
      "swapon --show",
      "exportfs -v",
      "diskutil list",
    ],
  }),
  changeRule({
    id: "production.volume",
    title: "Change a volume or a device",
    changes: [
      {
        names:
          "lvextend lvcreate lvrename lvresize lvchange lvconvert vgcreate vgextend vgrename " +
          "vgchange vgimport vgimportclone vgexport vgmerge vgsplit vgmknodes vgcfgbackup pvcreate " +
          "pvresize pvmove pvchange lvmdevices",
        passes: "-t --test",
        when: ({ args }) => args.length > 0,
      },
      {
        names: "lvm",
        passes: "-t --test",
        verbs: [
          "lvextend|lvcreate|lvrename|lvresize|lvchange|lvconvert|vgcreate|vgextend|vgrename",
          "vgchange|vgimport|vgexport|vgmerge|vgsplit|pvcreate|pvresize|pvmove|pvchange|lvreduce",
        ],
      },
      { names: "resize2fs", passes: "-P", verbs: ["*"] },
      { names: "xfs_growfs", passes: "-n", verbs: ["*"] },
      { names: "growpart", passes: "-N --dry-run", verbs: ["*"] },
      { names: "fstrim", passes: "-n --dry-run", when: ({ args }) => args.length > 0 },
      { names: "tune2fs tunefs", passes: "-l -p", verbs: ["*"] },
      { names: "xfs_admin", needs: "-L -U -c -O -e -f -j -p" },
      { names: "xfs_io", needs: "-x" },
      { names: "e2label fatlabel ntfslabel exfatlabel swaplabel", verbs: ["* *"] },
      { names: "swaplabel", needs: "-L -U" },
      {
        names: "xfs_fsr btrfstune f2fs.resize resize.f2fs ntfsresize resize_reiserfs",
        passes: "-n --no-action -i --info",
      },
      { names: "e4defrag", passes: "-c", verbs: ["*"] },
      {
        names: "fsck e2fsck fsck.ext2 fsck.ext3 fsck.ext4 fsck.xfs fsck.btrfs fsck.vfat fsck.fat " +
          "fsck.f2fs fsck.exfat fsck_apfs fsck_hfs xfs_repair ntfsfix reiserfsck jfs_fsck",
        passes: "-n -N -V --no-modify --check",
        when: namesDevice,
      },
      {
        names: "losetup",
        when: (command) =>
          hasFlag(command, "dDc", "detach", "detach-all", "set-capacity") ||
          (operands(command, LOOP_VALUED).length > (hasFlag(command, "fP", "find") ? 0 : 1) &&
            !hasFlag(command, "aljO")),
      },
      { names: "kpartx", passes: "-l", needs: "-a -d -u" },
      { names: "partprobe", passes: "-d --dry-run -s --summary" },
      { names: "partx", needs: "-a -d -u --add --delete --update" },
      { names: "blockdev", when: has(/^--(?:set|rereadpt|flushbufs)/) },
      {
        names: "hdparm",
        when: has(
          /^-(?:[WABSMKJPQXDkmp]\d|[yYzZS]$|-(?:fwdownload|set-sector|security|make-bad|dco))/,
        ),
      },
      { names: "sdparm", when: has(/^(?:--(?:set|clear|command|defaults)|-[scC])(?:=|$)/) },
      {
        names: "smartctl",
        when: has(/^(?:--(?:smart|offlineauto|saveauto|abort|set)|-[soSX])(?:=|$)/),
      },
      {
        names: "nvme",
        verbs: [
          "connect|connect-all|disconnect|disconnect-all|set-feature|fw-download|fw-commit|fw-activate",
          "reset|subsystem-reset|create-ns|attach-ns|detach-ns|resv-acquire|resv-register|resv-release",
          "security-send|ns-rescan|write|write-uncor|admin-passthru|io-passthru|dsm|set-property|directive-send",
        ],
      },
      {
        names: "iscsiadm",
        needs: "-l --login -u --logout --loginall --logoutall -U -L -R --rescan",
      },
      {
        names: "iscsiadm",
        when: (command) =>
          optionValues(command, "-o", "--op").some((op) =>
            ["new", "delete", "update"].includes(op)
          ),
      },
      { names: "multipath", passes: "-l -ll -d -t -h", needs: "-f -F -r -a -A -w -W" },
      {
        names: "multipathd",
        when: has(
          /\b(?:reconfigure|add|del|remove|resize|suspend|resume|fail|reinstate|switchgroup|shutdown|(?:dis|re|force|en)\w*queue\w*)\b/,
        ),
      },
      {
        names: "dmsetup",
        verbs: [
          "create|load|reload|suspend|resume|rename|message|setgeometry|mknodes|remove|clear",
        ],
      },
      {
        names: "quotaon quotaoff",
        passes: "-p --print-state",
        when: ({ args }) => args.length > 0,
      },
      { names: "quotacheck setquota edquota convertquota", passes: "-V --version" },
      {
        names: "xfs_quota",
        when: (command) =>
          optionValues(command, "-c").some((text) =>
            /^\s*(?:limit|project|timer|enable|disable|off|remove|warn|restore)\b/.test(text)
          ),
      },
      {
        names: "cryptsetup",
        passes: "--test-passphrase -V --version --usage -? --help",
        verbs: [
          "open|luksopen|plainopen|loopaesopen|tcryptopen|bitlkopen|fvault2open|create|close|luksclose",
          "remove|luksaddkey|lukschangekey|luksconvertkey|luksheaderbackup|luksheaderrestore|resize",
          "lukssuspend|luksresume|config|convert|repair|refresh",
          "token add|remove|import|unassign",
        ],
      },
      { names: "veritysetup integritysetup", verbs: ["format|open|close|create|remove|resize"] },
      { names: "veracrypt truecrypt", passes: "-l --list --version --volume-properties --test" },
      { names: "zramctl", needs: "-f -r -s -a --find --reset --size --algorithm" },
    ],
    explanation: "It changes a volume, a file system or a device that programs use.",
    safer:
      "Look at it first, and rehearse where the tool can: lvextend --test, fstrim -n, fsck -n.",
    hits: [
      "lvextend -r -L +10G /dev/vg0/root",
      "lvcreate -s -L 5G -n snap /dev/vg0/data",
      "resize2fs /dev/vg0/root",
      "xfs_growfs /srv",
      "tune2fs -m 1 /dev/vg0/root",
      "cryptsetup open /dev/sdb1 data",
      "losetup -fP disk.img",
      "blockdev --setro /dev/sdb",
      "iscsiadm -m node -T iqn.2026-01.example:a --login",
      "setquota -u anna 10G 12G 0 0 /home",
    ],
    misses: [
      "lvextend --test -L +10G vg0/root",
      "lvs",
      "resize2fs -P /dev/vg0/root",
      "xfs_growfs -n /srv",
      "tune2fs -l /dev/sda1",
      "cryptsetup status data",
      "cryptsetup luksDump /dev/sdb1",
      "losetup -a",
      "losetup -f",
      "blockdev --getsize64 /dev/sda",
      "fsck -n /dev/sda1",
      "smartctl -a /dev/sda",
      "hdparm -I /dev/sda",
    ],
  }),
];

const LOOP_VALUED = new Set(["-o", "--offset", "--sizelimit", "-b", "--sector-size", "-j"]);
