import type { Rule } from "../../model.ts";
import { changeRule } from "./change.ts";

/** Upgrades of the system itself. */
export const RELEASE_CHANGES: readonly Rule[] = [
  changeRule({
    id: "production.machine_release",
    title: "Upgrade the system, its kernel or its firmware",
    changes: [
      { names: "do-release-upgrade", passes: "-c --check-dist-upgrade-only -V --version" },
      { names: "unattended-upgrade unattended-upgrades", passes: "--dry-run" },
      {
        names: "fwupdmgr fwupdtool",
        verbs: [
          "update|upgrade|install|local-install|reinstall|downgrade|activate|unlock|switch-branch",
          "enable-remote|disable-remote|modify-config|set-bios-setting|block-firmware|install-blob",
        ],
      },
      {
        names: "needrestart",
        needs: "-r",
        when: ({ args }) => args.includes("a") || args.includes("-ra"),
      },
      { names: "ubuntu-drivers", passes: "--dry-run", verbs: ["install|autoinstall"] },
      {
        names: "pro ua",
        passes: "--dry-run --simulate-with-token-info",
        verbs: ["attach|detach|enable|disable|fix|refresh|config set"],
      },
      {
        names: "subscription-manager",
        passes: "--list --list-enabled --list-disabled",
        verbs: ["register|unregister|attach|remove|refresh|config|repos"],
      },
      { names: "update-initramfs", needs: "-u -c -d" },
      { names: "mkinitcpio", needs: "-p -P -g --preset --allpresets" },
      {
        names: "mkinitrd dracut kernel-install kernelstub update-grub2 grub2-install",
        verbs: ["*", "!inspect|list"],
      },
      { names: "grub-mkconfig grub2-mkconfig", needs: "-o --output" },
      { names: "dkms", verbs: ["install|add|build|remove|uninstall|autoinstall|unbuild"] },
      {
        names: "rpm-ostree",
        passes: "--preview --check --download-only --dry-run",
        verbs: [
          "install|uninstall|upgrade|update|rebase|rollback|override|kargs|deploy|apply-live|reset|cleanup|initramfs",
          "!kargs",
        ],
      },
      {
        names: "rpm-ostree",
        needs: "--append --delete --replace --append-if-missing --delete-if-present --editor",
        verbs: ["kargs"],
      },
      { names: "bootc", passes: "--check", verbs: ["upgrade|update|switch|rollback|install|edit"] },
      { names: "transactional-update", verbs: ["*", "!status|list"] },
      { names: "ostree", verbs: ["admin deploy|upgrade|undeploy|switch|pin|set-origin|unlock"] },
      { names: "nixos-rebuild darwin-rebuild", verbs: ["switch|boot|test|rollback|activate"] },
      {
        names: "guix",
        passes: "-n --dry-run",
        verbs: ["system reconfigure|roll-back|switch-generation|init"],
      },
      { names: "freebsd-update", verbs: ["install|upgrade|rollback"] },
      { names: "syspatch sysupgrade", passes: "-c -l -n" },
      { names: "usoclient", verbs: ["startinstall|restartdevice|startdownload|scaninstallwait"] },
    ],
    explanation: "It replaces the system, its kernel, its start image or its firmware.",
    safer: "Check first what would change, and take a snapshot.",
    hits: [
      "do-release-upgrade -f DistUpgradeViewNonInteractive",
      "unattended-upgrade -v",
      "fwupdmgr update",
      "update-initramfs -u",
      "nixos-rebuild switch",
      "dkms install zfs/2.3.4",
      "rpm-ostree upgrade",
    ],
    misses: [
      "do-release-upgrade -c",
      "unattended-upgrade --dry-run -d",
      "fwupdmgr get-updates",
      "nixos-rebuild dry-activate",
      "dkms status",
      "rpm-ostree status",
    ],
  }),
];
