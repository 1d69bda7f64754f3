import type { Rule, SimpleCommand } from "../../model.ts";
import { hasFlag, wordsOf } from "../../programs/arguments.ts";
import { changeRule } from "./change.ts";

const AS_ROOT = new Set(["doas", "pkexec", "run0", "su", "sudo", "sudo-rs"]);
const asRoot = ({ wrappers }: SimpleCommand): boolean => wrappers.some((one) => AS_ROOT.has(one));
const isGlobal = (command: SimpleCommand): boolean =>
  hasFlag(command, "g", "global", "location=global");

/** The letters of `pacman -Syu`. */
function syncs(command: SimpleCommand): boolean {
  const letters = command.args.filter((arg) => /^-[A-Za-z]/.test(arg)).join("");
  const long = (name: string) => command.args.includes(`--${name}`);
  if (letters.includes("U") || long("upgrade") || letters.includes("D") || long("database")) {
    return true;
  }
  if (!letters.includes("S") && !long("sync")) return command.name !== "pacman" && letters === "";
  if (/[silgpwc]/.test(letters) || PACMAN_READS.some(long)) return false;
  return letters.includes("u") || long("sysupgrade") || wordsOf(command).length > 0;
}

const PACMAN_READS = ["search", "info", "list", "groups", "print", "downloadonly", "clean"];

/** Letters and words of `rpm` that install, upgrade, or trust a key. */
const RPM_INSTALLS =
  /^-[a-zA-Z]*[iUF]|^--(?:install|upgrade|freshen|reinstall|import|rebuilddb|restore|setperms|setugids)/;

const DNF_PASSES = "--downloadonly --assumeno";

/** Installing and upgrading what the whole machine uses. */
export const PACKAGE_CHANGES: readonly Rule[] = [
  changeRule({
    id: "production.package_install",
    title: "Install or upgrade packages of the machine",
    changes: [
      {
        names: "apt apt-get aptitude nala apt-fast",
        passes:
          "-s --simulate --just-print --dry-run --recon --no-act -d --download-only --print-uris",
        verbs: [
          "install|reinstall|upgrade|safe-upgrade|dselect-upgrade",
          "autoremove|build-dep|satisfy|edit-sources|markauto|unmarkauto",
        ],
      },
      {
        names: "dpkg",
        passes: "--dry-run --no-act --simulate",
        needs: "-i --install --unpack --configure -a --triggers-only",
        when: ({ args }) =>
          !args.some((arg) => /^-[lLsSpcIxeX]$|^--(?:list|status|search)/.test(arg)),
      },
      { names: "dpkg-reconfigure", verbs: ["*"] },
      {
        names: "dnf dnf5 yum microdnf tdnf dnf-3",
        passes: DNF_PASSES,
        verbs: [
          "install|update|upgrade|up|upgrade-minimal|update-minimal|downgrade|reinstall|swap|in",
          "localinstall|localupdate|groupinstall|groupupdate|distro-sync|dsync|builddep|do|shell",
          "group|groups|module|environment install|upgrade|update|enable|disable|reset|switch-to",
          "system-upgrade|offline-upgrade|offline-distrosync|offline reboot|upgrade|download|exec",
          "history undo|rollback|redo|replay",
          "copr enable|disable|remove",
          "versionlock|mark",
          "!versionlock list",
          "needs-restarting reboot",
        ],
      },
      { names: "dnf dnf5 yum", passes: "--dump --dump-variables", verbs: ["config-manager"] },
      {
        names: "zypper",
        passes: "-D --dry-run -d --download-only",
        verbs: [
          "install|in|update|up|patch|dist-upgrade|dup|install-new-recommends|inr|source-install|si",
          "verify|ve|addrepo|ar|modifyrepo|mr|removerepo|rr|renamerepo|nr|addservice|as",
          "addlock|al|removelock|rl",
        ],
      },
      {
        names: "rpm",
        passes: "--test",
        hasH: true,
        when: ({ args }) =>
          args.some((arg) => RPM_INSTALLS.test(arg)) &&
          !args.some((arg) => /^-[a-zA-Z]*[qV]|^--(?:query|verify|checksig|eval|showrc)/.test(arg)),
      },
      { names: "pacman yay paru", passes: "-p --print", when: syncs },
      { names: "apk", passes: "-s --simulate", verbs: ["add|upgrade|fix"] },
      { names: "opkg", passes: "--noaction", verbs: ["install|upgrade|flag|configure"] },
      {
        names: "xbps-install",
        passes: "-n --dry-run -D --download-only",
        when: (command) => wordsOf(command).length > 0 || hasFlag(command, "u", "update"),
      },
      {
        names: "emerge",
        passes: "-p --pretend -s --search -S --searchdesc -f --fetchonly --info --sync --list-sets",
        verbs: ["*"],
      },
      {
        names: "eopkg swupd",
        passes: "--dry-run -n",
        verbs: ["install|it|upgrade|up|bundle-add|update|repair"],
      },
      {
        names: "pkg",
        passes: "-n --dry-run -F --fetch-only",
        verbs: ["install|add|upgrade|set|bootstrap|lock|unlock|autoremove"],
      },
      { names: "pkg_add pkg_delete", passes: "-n", when: ({ args }) => args.length > 0 },
      { names: "pkgin port", passes: "-n -y", verbs: ["install|upgrade|full-upgrade|activate"] },
      {
        names: "brew",
        passes: "-n --dry-run",
        verbs: [
          "install|upgrade|reinstall|link|unlink|tap|bundle|autoremove",
          "!bundle check|list|dump|exec",
        ],
      },
      {
        names: "snap",
        passes: "--list --time",
        verbs: ["install|refresh|revert|switch|enable|disable|try|ack|import|restore"],
      },
      {
        names: "flatpak",
        passes: "--user --no-deploy",
        verbs: ["install|update|upgrade|override|mask|pin|remote-add|remote-modify|repair"],
      },
      {
        names: "choco",
        passes: "--noop --what-if --whatif -whatif",
        verbs: [
          "install|upgrade|pin|config|source|feature",
          "!pin list",
          "!config|source|feature list|get",
        ],
      },
      {
        names: "winget",
        verbs: ["install|add|import|configure", "upgrade|update *", "source add|reset", "pin add"],
      },
      { names: "winget", needs: "--all -r --recurse --id", verbs: ["upgrade|update"] },
      { names: "msiexec", needs: "/i /package /p /update /a /f /fa -i" },
      {
        names: "dism",
        needs: "/enable-feature /add-package /add-capability /apply-image /add-driver",
      },
      { names: "wusa pnputil", passes: "/? /enum-drivers /enum-devices", verbs: ["*"] },
      {
        names:
          "install-windowsfeature add-windowsfeature enable-windowsoptionalfeature add-windowscapability install-package install-windowsupdate install-wupdates get-wuinstall add-windowspackage",
        passes: "-whatif -WhatIf",
      },
      {
        names: "pkcon packagekit",
        passes: "-d --only-download",
        verbs: ["install|install-local|update|upgrade-system"],
      },
      {
        names: "softwareupdate",
        needs: "-i --install -ia -iar --install-rosetta --fetch-full-installer",
      },
      { names: "mas", verbs: ["install|upgrade|get|purchase"] },
    ],
    explanation: "It installs or upgrades software that the whole machine uses.",
    safer: "Show what would happen first: apt-get -s, dnf --assumeno, zypper --dry-run.",
    hits: [
      "apt-get install -y jq",
      "sudo apt upgrade -y",
      "apt-get -o Dpkg::Options::=--force-confold install -y jq",
      "dnf install -y httpd",
      "pacman -Syu",
      "apk add --no-cache git",
      "rpm -Uvh ./x.rpm",
      "dpkg -i x.deb",
      "zypper --non-interactive in nginx",
      "brew upgrade",
      "snap refresh",
      "yum -y update kernel",
      "msiexec /i app.msi /qn",
      "choco install nginx -y",
      "apt autoremove -y",
      "yay",
    ],
    misses: [
      "apt-get update",
      "apt-get install -s nginx",
      "apt-get install --download-only nginx",
      "apt list --upgradable",
      "apt show install",
      "dnf check-update",
      "dnf install --assumeno httpd",
      "pacman -Ss nginx",
      "pacman -Qi linux",
      "rpm -qa",
      "rpm -qip x.rpm",
      "dpkg -l nginx",
      "dpkg -s nginx",
      "apk info -a git",
      "zypper --dry-run up",
      "brew list",
      "snap list",
      "flatpak install --user flathub org.gimp.GIMP",
      "winget upgrade",
      "emerge -p nginx",
    ],
  }),
  changeRule({
    id: "production.package_global",
    title: "Install for everybody with a language's package manager",
    changes: [
      {
        names: "npm",
        passes: "--dry-run",
        verbs: ["install|i|add|in|ci|update|up|upgrade|link|ln|uninstall|un|rm|remove"],
        when: (command) => isGlobal(command) || asRoot(command),
      },
      { names: "yarn", verbs: ["global add|upgrade|remove"] },
      {
        names: "pnpm bun",
        verbs: ["add|install|i|update|up|remove|link"],
        when: isGlobal,
      },
      {
        names: "pip pip3 pip2 pipx",
        passes: "--dry-run",
        verbs: ["install|uninstall|upgrade|upgrade-all|inject|ensurepath"],
        when: (command) =>
          asRoot(command) || hasFlag(command, "", "break-system-packages", "global"),
      },
      {
        names: "uv",
        passes: "--dry-run",
        verbs: ["pip install|uninstall|sync"],
        when: (command) =>
          asRoot(command) || hasFlag(command, "", "system", "break-system-packages"),
      },
      { names: "gem", verbs: ["install|i|update|uninstall|pristine|cleanup"], when: asRoot },
      { names: "gem", needs: "--system", verbs: ["update"] },
      { names: "cargo go rustup luarocks cpan cpanm", verbs: ["install|update|*"], when: asRoot },
      { names: "pecl pear", verbs: ["install|upgrade|upgrade-all|uninstall|channel-update"] },
      {
        names: "composer conda mamba",
        verbs: ["global require|update", "install|update"],
        when: asRoot,
      },
      { names: "corepack", verbs: ["enable|disable"], when: asRoot },
    ],
    explanation: "It installs packages that every program of that language on this machine uses.",
    safer: "Install into a project's folder or a virtual environment.",
    hits: [
      "npm install -g pm2",
      "sudo pip install requests",
      "sudo -H python3 -m pip install --upgrade pip",
      "pip3 install --break-system-packages ansible",
      "sudo gem install bundler",
      "yarn global add serve",
    ],
    misses: [
      "npm install lodash",
      "npm ci",
      "pip install -r requirements.txt",
      "sudo pip list",
      "npm ls -g",
      "yarn add react",
      "cargo install ripgrep",
      "gem list",
    ],
  }),
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
