import { wordsOf } from "../../programs/arguments.ts";
import { changeRule, type Test } from "../production/change.ts";

/** What changes something, by the group of `btrfs`; any start of a word names it. */
const BTRFS: readonly (readonly [group: string, verbs: readonly string[]])[] = [
  ["balance", ["start", "pause", "cancel", "resume"]],
  ["subvolume", ["create", "delete", "snapshot", "set-default"]],
  ["filesystem", ["resize", "defragment", "mkswapfile"]],
  ["device", ["add", "delete", "remove"]],
  ["replace", ["start", "cancel"]],
  ["scrub", ["start", "cancel", "resume", "limit"]],
  ["quota", ["enable", "disable"]],
  ["qgroup", ["create", "destroy", "limit", "assign", "remove", "clear-stale"]],
  ["property", ["set"]],
  ["receive", [""]],
];

const changesBtrfs: Test = (command) => {
  const [group = "", verb = "", ...words] = wordsOf(command);
  if (group === "") return false;
  if ("filesystem".startsWith(group) && verb === "label") return words.length > 1;
  return BTRFS.some(([name, verbs]) =>
    name.startsWith(group) && group.length > 1 &&
    verbs.some((one) => one === "" || (verb !== "" && one.startsWith(verb)))
  ) || group === "balance" && verb.startsWith("/");
};

const ZFS = "create|receive|recv|send|load-key";

/** Pools, and storage that several machines share. */
export const POOL_CHANGES = [
  changeRule({
    id: "production.pool",
    title: "Change a pool of storage",
    changes: [
      { names: "btrfs", passes: "--dump", when: changesBtrfs },
      { names: "zfs", passes: "-n --dryrun", verbs: [ZFS] },
      {
        names: "bcachefs",
        passes: "-n",
        verbs: [
          "device|data|subvolume|snapshot|set-option|unlock|migrate|fsck|set-passphrase|remove-passphrase|reset-counters|set-fs-option",
        ],
      },
      {
        names: "zfs",
        verbs: [
          "set|snapshot|snap|rollback|clone|promote|rename|inherit|unmount|umount|share|unshare|hold",
          "release|unload-key|change-key|bookmark|unallow|project|redact|jail|unjail|program|zone|unzone",
          "allow * *",
          "mount|upgrade *",
        ],
      },
      { names: "zfs", verbs: ["mount|upgrade"], needs: "-a -r" },
      {
        names: "zpool",
        passes: "-n",
        verbs: ["add|create|split|remove"],
      },
      {
        names: "zpool",
        valued: "-d -o -R -c",
        verbs: [
          "attach|detach|replace|offline|online|clear|scrub|export|set|reguid|reopen|resilver|trim",
          "initialize|checkpoint|labelclear|prefetch|ddtprune",
          "import|upgrade *",
        ],
      },
      { names: "zpool", verbs: ["import|upgrade"], needs: "-a -f -F" },
      {
        names: "mdadm",
        passes: "--examine -E --detail -D --query -Q --examine-bitmap -X --test -V --version",
        needs:
          "--add -a --re-add --fail -f --set-faulty --remove -r --grow -G --assemble -A --create " +
          "-C --build -B --stop -S --run -R --readonly -o --readwrite -w --replace --incremental -I " +
          "--zero-superblock --add-spare --add-journal --update --action --kill-subarray --update-subarray",
      },
      {
        names: "gluster",
        verbs: [
          "volume|vol start|stop|delete|create|set|reset|add-brick|remove-brick|replace-brick|reset-brick",
          "volume|vol rebalance|heal|quota|bitrot|barrier|sync|clear-locks|geo-replication|profile|tier",
          "!volume|vol rebalance|heal|quota|bitrot|profile|geo-replication * status|info|list",
          "peer probe|detach|attach",
          "snapshot create|delete|restore|activate|deactivate|clone|config",
        ],
      },
      {
        names: "drbdadm drbdsetup",
        passes: "-d --dry-run",
        verbs: [
          "up|down|primary|secondary|connect|disconnect|attach|detach|adjust|invalidate",
          "invalidate-remote|resize|create-md|wipe-md|verify|pause-sync|resume-sync|outdate|syncer",
          "new-current-uuid|suspend-io|resume-io|forget-peer|new-peer|del-peer|disk-options|net-options",
        ],
      },
      {
        names: "ceph",
        verbs: [
          "osd out|in|down|lost|rm|purge|destroy|set|unset|reweight|reweight-by-utilization|scrub",
          "osd deep-scrub|repair|primary-affinity|pause|unpause|tier|crush|blocklist|blacklist|new",
          "!osd crush tree|dump|ls|class ls",
          "osd set-full-ratio|set-nearfull-ratio|set-require-min-compat-client|require-osd-release",
          "osd pool create|delete|rm|rename|set|set-quota|mksnap|rmsnap|application|repair",
          "osd erasure-code-profile set|rm",
          "config set|rm|reset|assimilate-conf",
          "config-key set|rm",
          "mon add|remove|rm|enable-msgr2|set-rank",
          "mds fail|rm|repaired|rmfailed",
          "fs new|rm|set|fail|reset|add_data_pool|rm_data_pool|volume|subvolume|set-default",
          "!fs volume|subvolume ls|info",
          "auth add|caps|del|rm|import|rotate|get-or-create",
          "mgr fail",
          "mgr module enable|disable",
          "orch apply|rm|restart|start|stop|redeploy|reconfig|daemon|pause|resume|upgrade|set",
          "!orch upgrade status|ls|check",
          "orch host add|rm|drain|set-addr|maintenance|label",
          "balancer on|off|mode|execute|optimize",
          "pg repair|scrub|deep-scrub|force-recovery|force-backfill|force_create_pg",
        ],
      },
      {
        names: "rbd",
        verbs: [
          "create|rm|remove|resize|clone|flatten|rename|mv|copy|cp|import|import-diff|map|unmap",
          "snap|snapshot create|add|rm|remove|purge|rollback|revert|protect|unprotect|rename|limit",
          "feature enable|disable",
          "lock add|rm",
          "mirror pool|image enable|disable|promote|demote|resync|peer",
          "trash mv|move|rm|purge|restore",
          "device map|unmap|attach|detach",
          "migration prepare|execute|commit|abort",
        ],
      },
      {
        names: "targetcli",
        when: ({ args }) =>
          args.some((arg) =>
            /\b(?:create|delete|set|enable|disable|saveconfig|clearconfig|restoreconfig)\b/.test(
              arg,
            )
          ),
      },
      {
        names: "stratis",
        verbs: [
          "pool|filesystem|fs|blockdev create|destroy|rename|snapshot|start|stop|extend-data|add-data|add-cache|init-cache",
          "pool bind|unbind|rebind|set-fs-limit|overprovision",
          "key set|reset|unset",
        ],
      },
      {
        names: "vdo",
        verbs: [
          "create|remove|start|stop|activate|deactivate|grow|growlogical|growphysical|modify|change|enable|disable|import",
        ],
      },
    ],
    explanation: "It changes a pool of storage, or what programs find in it.",
    safer:
      "Look at the status first, and rehearse where the tool can: zfs receive -n, zpool add -n.",
    hits: [
      "btrfs balance start --full-balance /mnt/data",
      "btrfs fi resize 20G /mnt/data",
      "btrfs sub snap -r / /snap/x",
      "zfs set compression=lz4 tank/data",
      "zfs receive -F tank/data < dump",
      "zpool add tank mirror sdc sdd",
      "mdadm --manage /dev/md0 --add /dev/sdc1",
      "gluster volume set gv0 nfs.disable on",
      "ceph osd out 3",
      "drbdadm primary r0",
    ],
    misses: [
      "btrfs balance status /mnt",
      "btrfs filesystem usage -T /mnt",
      "btrfs sub list /",
      "btrfs filesystem label /",
      "zfs list -t snapshot",
      "zfs send -nv tank@a",
      "zfs mount",
      "zpool add -n tank sdc",
      "zpool import",
      "mdadm --detail --scan",
      "gluster volume heal gv0 info",
      "ceph osd tree",
    ],
  }),
];
