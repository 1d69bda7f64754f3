import { hasFlag, hasOption, optionValues } from "../arguments.ts";
import { once, type SimpleCommand } from "../command.ts";
import { wordsTold } from "../phrases.ts";
import type { Rule } from "../rule.ts";
import { defineRule } from "./define.ts";

/** The firewall, the machine's protections, its kernel and its network. */
export const DEFENSE_RULES: readonly Rule[] = [
  defineRule(
    "services",
    "firewall",
    [
      "iptables",
      "ip6tables",
      "nft",
      "ufw",
      "firewall-cmd",
      "pfctl",
      "ebtables",
      "netsh",
      "iptables-restore",
      "ip6tables-restore",
    ],
    (command, words) => {
      switch (command.name) {
        case "ufw":
          return ["disable", "reset", "delete"].includes(words[0] ?? "") ||
            (words[0] === "default" && words[1] === "allow" && words[2] !== "outgoing") ||
            (words.at(-2) === "from" && words.at(-1) === "any");
        case "nft":
          return once(command, wordsTold).some((word) => word === "flush" || word === "delete");
        case "pfctl":
          return hasFlag(command, "dF");
        case "firewall-cmd":
          return hasOption(command, "--panic-on", "--remove-service", "--complete-reload") ||
            command.args.some((arg) => arg.startsWith("--remove")) ||
            optionValues(command, "--set-default-zone").includes("trusted") ||
            optionValues(command, "--add-port").some(isWideRange);
        case "netsh":
          return words.includes("off") || words.includes("delete") || words.includes("reset") ||
            (words.includes("portproxy") && words.includes("add"));
        case "iptables-restore":
        case "ip6tables-restore":
          return true;
        default:
          return hasFlag(command, "FXD", "flush", "delete-chain", "delete") ||
            (hasFlag(command, "P", "policy") &&
              words.some((word) => word === "DROP" || word === "ACCEPT")) ||
            concernsAll(command);
      }
    },
    [4, 4],
    "defense_evasion",
    "It takes the firewall down, or locks everybody out.",
    "Add one rule, with a timer that takes it back.",
  ),
  defineRule(
    "services",
    "protection",
    [
      "setenforce",
      "aa-teardown",
      "aa-disable",
      "aa-complain",
      "apparmor_parser",
      "semanage",
      "auditctl",
      "sestatus",
      "spctl",
      "csrutil",
      "set-mppreference",
      "bcdedit",
      "vssadmin",
      "wbadmin",
      "wevtutil",
      "fsutil",
      "cipher",
      "reg",
      "wmic",
      "sc",
      "auditpol",
      "certutil",
      "mountvol",
    ],
    (command, words) => {
      const first = (words[0] ?? "").toLowerCase();
      switch (command.name) {
        case "setenforce":
          return first === "0" || first === "permissive";
        case "auditctl":
          return hasFlag(command, "D") || (hasFlag(command, "e") && words.includes("0"));
        case "apparmor_parser":
          return hasFlag(command, "R", "remove");
        case "semanage":
          return first === "permissive" && hasFlag(command, "a", "add");
        case "spctl":
          return command.args.some((arg) => arg.includes("disable"));
        case "csrutil":
        case "vssadmin":
        case "wbadmin":
        case "reg":
          return ["disable", "delete", "add"].includes(first) ||
            ((first === "save" || first === "export") && HIVES.test(words[1] ?? ""));
        case "sc":
          return first === "delete" || first === "create" || first === "config";
        case "auditpol":
        case "mountvol":
          return command.args.some((arg) =>
            ["/clear", "/remove", "/d"].includes(arg.toLowerCase())
          );
        case "certutil":
          return command.args.some((arg) => arg.toLowerCase().endsWith("addstore"));
        case "wevtutil":
          return first === "cl" || first === "clear-log";
        case "wmic":
          return command.args.some((arg) => ["call", "delete"].includes(arg.toLowerCase()));
        case "sestatus":
          return false;
        case "bcdedit":
          return words.length > 0 && !first.startsWith("/enum");
        case "fsutil":
          return words.some((word) => FSUTIL_VERBS.test(word));
        case "cipher":
          return command.args.some((arg) => arg.toLowerCase().startsWith("/w"));
        default:
          return command.args.length > 0;
      }
    },
    [4, 4],
    "defense_evasion",
    "It switches a protection of the machine off, or deletes its shadow copies or logs.",
    null,
  ),
  defineRule(
    "services",
    "kernel",
    [
      "insmod",
      "modprobe",
      "rmmod",
      "sysctl",
      "kexec",
      "grub-install",
      "update-grub",
      "efibootmgr",
      "dracut",
      "flashrom",
      "bpftool",
    ],
    (command, words) => {
      if (command.name === "sysctl") {
        // Without a file, -p and --system put the machine's own settings in force again.
        return hasFlag(command, "w", "write") || words.some((word) => word.includes("=")) ||
          (hasFlag(command, "pf", "load") && words.length > 0) ||
          command.args.some((arg) => SYSCTL_FILE.test(arg));
      }
      if (command.name === "efibootmgr") return hasFlag(command, "BbcoOnN");
      if (command.name === "bpftool") return words.includes("load") || words.includes("attach");
      if (command.name === "modprobe") {
        return words.length > 0 &&
          !hasFlag(command, "nDc", "show-depends");
      }
      return words.length > 0 || command.name !== "rmmod";
    },
    [4, 2],
    "system_tampering",
    "It changes the running kernel or how the machine boots.",
    "Put it into configuration and have it reviewed.",
  ),
  defineRule(
    "services",
    "sysrq",
    null,
    (command) =>
      command.redirections.some((one) =>
        one.operator.includes(">") && one.target.startsWith("/proc/sysrq")
      ),
    [5, 4],
    "denial_of_service",
    "It makes the kernel stop, crash or restart at once.",
    null,
    ["redirected"],
  ),
  defineRule(
    "services",
    "network_down",
    ["ip", "ifconfig", "nmcli", "ifdown", "route", "networksetup", "rfkill"],
    (command, words) => {
      if (command.name === "rfkill") return words[0] === "block";
      if (command.name === "ip") {
        return (words.includes("link") || words.includes("l")) && words.includes("down") ||
          words.includes("flush") || words.includes("blackhole") ||
          (words.includes("replace") && words.includes("default")) ||
          ((words.includes("route") || words.includes("addr") || words.includes("link")) &&
            (words.includes("del") || words.includes("delete")));
      }
      if (command.name === "nmcli") {
        return words.includes("off") || words.includes("down") ||
          words.includes("delete");
      }
      if (command.name === "route") {
        return words[0] === "del" || words[0] === "flush" ||
          words[0] === "delete";
      }
      return command.name === "ifdown" || words.includes("down") || words.includes("off");
    },
    [4, 2],
    "service_disruption",
    "It may cut the machine off the network.",
    "Plan it with somebody at the console.",
  ),
];

/** What fsutil does besides telling: `fsutil usn deletejournal`. */
const FSUTIL_VERBS =
  /^(?:set|delete|create|disable|reset|wipe|stop|enlarge|dismount|strip|enforce|modify|clear|remove|commit|rollback|initiate)/i;

/** A file of settings that is written together with its option: `-p/tmp/x`, `--load=x`. */
const SYSCTL_FILE = /^-(?:[a-z]*[pf].|-l[a-z]*=)/;

/** The parts of the registry with the machine's passwords and keys, or above them. */
const HIVES = /^(?:hklm|hkey_local_machine)\\*(?:(?:sam|security).*|system)?$/i;

/** `iptables -I INPUT -j ACCEPT`: a rule for whatever comes in. */
function concernsAll(command: SimpleCommand): boolean {
  const into = optionValues(command, "-A", "-I", "--append", "--insert");
  const targets = optionValues(command, "-j", "--jump");
  return into.some((chain) => chain === "INPUT" || chain === "FORWARD" || chain === "OUTPUT") &&
    targets.some((target) => target === "ACCEPT" || target === "DROP" || target === "REJECT") &&
    !command.args.some((arg) => NARROWING.has(arg) || arg.startsWith("--dport"));
}

const NARROWING = new Set([
  "-s",
  "--source",
  "-d",
  "--destination",
  "-p",
  "--protocol",
  "-i",
  "--in-interface",
  "-o",
  "--out-interface",
  "-m",
  "--match",
]);

/** `0-65535/tcp`: more ports than any service has. */
function isWideRange(port: string): boolean {
  const [from = "", to = ""] = port.split("/", 1)[0]!.split("-");
  return Number(to) - Number(from) > 10_000;
}
