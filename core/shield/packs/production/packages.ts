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

const DNF_PASSES = "--downloadonly";

/** Installing and upgrading what the whole machine uses. */
export const PACKAGE_CHANGES: readonly Rule[] = [
  changeRule({
    id: "production.package_install",
    title: "Install or upgrade packages of the machine",
    changes: [
      {
        names: "apt apt-get aptitude nala apt-fast",
        valued: "-o --option -c --config-file -t --target-release -a --host-architecture",
        passes: "-d --download-only --print-uris",
        verbs: [
          "install|reinstall|upgrade|safe-upgrade|dselect-upgrade|dist-upgrade|full-upgrade",
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
          "install|upgrade|reinstall|link|unlink|bundle|autoremove",
          "tap *",
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
        when: isGlobal,
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
      {
        names: "composer",
        passes: "--dry-run",
        verbs: ["global require|update|install|remove|config"],
        when: asRoot,
      },
      {
        names: "apt-mark",
        passes: "-s --simulate",
        verbs: ["hold|unhold|auto|manual|minimize-manual"],
      },
      { names: "gem", passes: "-n -d --dry-run --dryrun", verbs: ["cleanup|clean"] },
      { names: "gem", needs: "-a --all -x --executables", verbs: ["uninstall"] },
      {
        names: "pacman yay paru",
        when: ({ args }) => args.some((arg) => /^-[a-z]*S[a-z]*c[a-z]*c/.test(arg)),
      },
      { names: "pipx", verbs: ["upgrade-all|reinstall-all|uninstall-all"] },
      { names: "rustup", verbs: ["self update|uninstall"] },
      { names: "gem", needs: "--system", verbs: ["update"] },
      { names: "cargo go rustup luarocks", verbs: ["install|update"], when: asRoot },
      { names: "cpan cpanm", passes: "-l -D -a --info", verbs: ["*"], when: asRoot },
      { names: "pecl pear", verbs: ["install|upgrade|upgrade-all|uninstall|channel-update"] },
      {
        names: "conda mamba",
        passes: "--dry-run -d",
        verbs: ["install|update"],
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
      "sudo composer global require laravel/installer",
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
      "sudo composer global show",
      "sudo npm ci",
      "sudo cargo build",
    ],
  }),
];
