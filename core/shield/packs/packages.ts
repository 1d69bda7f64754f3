import { hasFlag, optionValues } from "../programs/arguments.ts";
import { type Rule, type SimpleCommand, UNKNOWN } from "../model.ts";
import { defineRule } from "./define.ts";

/** Package managers and registries. */
export const PACKAGE_RULES: readonly Rule[] = [
  defineRule(
    "packages",
    "remove",
    [
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
    removesPackages,
    [3, 3],
    "package_removal",
    "It removes packages, and others that need them.",
    "Look at what would go first: apt-get -s remove.",
  ),
  defineRule(
    "packages",
    "force",
    ["apt", "apt-get", "dpkg", "rpm", "pip", "pip3"],
    (command) =>
      command.args.some((arg) =>
        arg.startsWith("--force-") || arg === "--nodeps" || arg === "--allow-unauthenticated" ||
        arg === "--no-gpg-check" || arg === "--nosignature" || arg === "--allow-remove-essential" ||
        arg === "--trusted-host" || arg.startsWith("--trusted-host=")
      ) || command.args.includes("--purge-all"),
    [3, 3],
    "package_tampering",
    "It overrides the checks of the package manager.",
    "Solve the conflict instead.",
  ),
  defineRule(
    "packages",
    "publish",
    [
      "npm",
      "yarn",
      "pnpm",
      "cargo",
      "gem",
      "twine",
      "poetry",
      "pip",
      "dotnet",
      "mvn",
      "helm",
      "uv",
      "flit",
      "hatch",
      "vsce",
    ],
    (command, words) => {
      const verb = words[0] ?? "";
      return (["publish", "unpublish", "yank", "deprecate"].includes(verb) &&
        command.name !== "dotnet") ||
        (verb === "owner" && words.length > 1) || (command.name === "gem" && verb === "push") ||
        (command.name === "twine" && verb === "upload") ||
        (verb === "access" && words[1] !== "list" && words[1] !== "ls") ||
        (verb === "nuget" && words[1] === "push") ||
        (command.name === "npm" && verb === "dist-tag" && words[1] !== "ls");
    },
    [3, 4],
    "supply_chain",
    "It changes what everybody else installs.",
    "Publish from the pipeline; try --dry-run first.",
  ),
  defineRule(
    "packages",
    "foreign_source",
    [
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
    ],
    (command, words) =>
      command.name === "add-apt-repository" ||
      (command.name === "apt-key" && (words[0] === "add" || words[0] === "adv")) ||
      (words.some((word) =>
        word === "install" || word === "i" || word === "add" || word === "-i"
      ) && words.some((word) =>
        word.startsWith("http://") || word.startsWith("git+http://") ||
        word.includes(UNKNOWN + "\x01")
      )) ||
      (command.name === "rpm" && hasFlag(command, "Ui", "import", "upgrade", "install") &&
        words.some((word) => word.startsWith("http://"))) ||
      (((words[0] === "config" && words[1] === "set") || words[0] === "sources") &&
        words.slice(1).some((word) => word.includes("http://"))) ||
      optionValues(command, "--index-url", "--extra-index-url", "--registry", "-i").some((url) =>
        url.startsWith("http://")
      ),
    [3, 3],
    "supply_chain",
    "It installs code from an address that nobody vouches for.",
    "Install from the registry, with a pinned version.",
  ),
];

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
      if (hasFlag(command, "s", "simulate")) return false;
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
