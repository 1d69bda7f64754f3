import { once, type Rule, rule, type SimpleCommand } from "../rule.ts";
import { hasFlag, hasOption, optionValues } from "../../programs/arguments.ts";
import { wordsTold } from "../phrases.ts";

/** The firewall, the machine's protections, its kernel and its network. */
export const DEFENSE_RULES: readonly Rule[] = [
  rule({
    id: "services.opens_port",
    title: "Open the firewall",
    phrases: [
      "firewall-cmd --add-port|--add-service|--add-source|--add-rich-rule|--add-forward-port|--add-masquerade|--add-interface",
      "iptables|ip6tables -a|-i|--append|--insert -j|--jump=accept|redirect|dnat|masquerade",
      "iptables|ip6tables -a|-i|--append|--insert -g|--goto",
      "nft insert|replace rule",
      "nft add|create rule",
      "pfctl -f",
      "netsh advfirewall firewall add",
      "new-netfirewallrule -…",
    ],
    commands: ["ufw", "nft"],
    match: (command, words) =>
      command.name === "ufw"
        ? ["allow", "limit", "route", "insert"].includes(words[0] ?? "")
        : command.name === "nft" && hasFlag(command, "f", "file") &&
          !hasFlag(command, "c", "check"),
    weight: [4, 2],
    threat: "defense_evasion",
    explanation: "It lets connections through that the firewall has kept out.",
    safer: "Name the one source and port, and have the rule reviewed.",
    hits: [
      "ufw allow from any to any port 5432 proto tcp",
      "iptables -I INPUT 1 -p tcp --dport 4444 -j ACCEPT",
      "firewall-cmd --permanent --zone=public --add-service=telnet",
    ],
    misses: ["ufw status verbose", "iptables -L -n", "firewall-cmd --list-all", "ufw app list"],
  }),
  rule({
    id: "services.firewall",
    title: "Take the firewall down",
    commands: [
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
    match: (command, words) => {
      switch (command.name) {
        case "ufw":
          return ["disable", "reset", "delete"].includes(words[0] ?? "") ||
            (words[0] === "default" && words[1] === "allow" && words[2] !== "outgoing") ||
            (words.at(-2) === "from" && words.at(-1) === "any");
        case "nft":
          return !hasFlag(command, "c", "check") &&
            once(command, wordsTold).some((word) => word === "flush" || word === "delete");
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
          return !hasFlag(command, "t", "test");
        default:
          return hasFlag(command, "FXD", "flush", "delete-chain", "delete") ||
            (hasFlag(command, "P", "policy") &&
              words.some((word) => word === "DROP" || word === "ACCEPT")) ||
            concernsAll(command);
      }
    },
    weight: [4, 4],
    threat: "defense_evasion",
    explanation: "It takes the firewall down, or locks everybody out.",
    safer: "Add one rule, with a timer that takes it back.",
    hits: ["iptables -F", "ufw disable"],
    misses: ["ufw status verbose", "iptables -L -n"],
  }),
  rule({
    id: "services.protection",
    title: "Disable a protection",
    phrases: [
      "aa-teardown|aa-disable|aa-complain|set-mppreference …",
      "setenforce 0|permissive",
      "semanage permissive -a|--add",
      "spctl …disable…",
      "csrutil|vssadmin|wbadmin|reg disable|delete|add",
      "sc delete|create|config",
      "auditpol|mountvol /clear|/remove|/d",
      "certutil …addstore",
      "wevtutil cl|clear-log",
      "wmic call|delete",
      "fsutil set…|delete…|create…|disable…|reset…|wipe…|stop…|enlarge…|dismount…|strip…|enforce…",
      "fsutil modify…|clear…|remove…|commit…|rollback…|initiate…",
      "cipher /w…",
    ],
    commands: ["auditctl", "apparmor_parser", "bcdedit"],
    match: (command, words) => {
      switch (command.name) {
        case "auditctl":
          return hasFlag(command, "D") || (hasFlag(command, "e") && words.includes("0"));
        case "apparmor_parser":
          return hasFlag(command, "R", "remove");
        case "bcdedit":
          return words.length > 0 && !words[0]!.toLowerCase().startsWith("/enum");
        default:
          return savesHive(command, words);
      }
    },
    weight: [4, 4],
    threat: "defense_evasion",
    explanation: "It disables a protection of the machine, or deletes its shadow copies or logs.",
    safer: null,
    hits: ["setenforce 0", "auditctl -e 0"],
    misses: ["wevtutil gl Security", "wmic os get caption"],
  }),
  rule({
    id: "services.kernel",
    title: "Change the running kernel",
    commands: [
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
    match: (command, words) => {
      if (command.name === "sysctl") {
        // Without a file, -p and --system only reload the machine's own settings.
        return hasFlag(command, "w", "write") || words.some((word) => word.includes("=")) ||
          (hasFlag(command, "pf", "load") && words.length > 0) ||
          command.args.some((arg) => SYSCTL_FILE.test(arg));
      }
      if (command.name === "efibootmgr") return hasFlag(command, "BbcoOnN");
      if (command.name === "flashrom") return hasFlag(command, "wE", "write", "erase");
      if (command.name === "bpftool") return words.includes("load") || words.includes("attach");
      if (command.name === "modprobe") {
        return words.length > 0 &&
          !hasFlag(command, "nDc", "show-depends");
      }
      return words.length > 0 || command.name !== "rmmod";
    },
    weight: [4, 2],
    threat: "system_tampering",
    explanation: "It changes the running kernel or how the machine boots.",
    safer: "Put it into configuration and have it reviewed.",
    hits: ["insmod evil.ko", "modprobe -r ext4"],
    misses: ["sysctl --system", "lsmod"],
  }),
  rule({
    id: "services.sysrq",
    title: "Crash or restart through the kernel",
    commands: null,
    also: ["redirected"],
    match: (command) =>
      command.redirections.some((one) =>
        one.operator.includes(">") && one.target.startsWith("/proc/sysrq")
      ),
    weight: [5, 4],
    threat: "denial_of_service",
    explanation: "It makes the kernel stop, crash or restart at once.",
    safer: null,
    hits: ["echo b > /proc/sysrq-trigger", "echo c > /proc/sysrq-trigger"],
    misses: ["cat /proc/sys/kernel/sysrq", "echo b > notes.txt"],
  }),
  rule({
    id: "services.network_down",
    title: "Cut the machine off from the network",
    phrases: [
      "ip link|l down",
      "ip flush|blackhole",
      "ip replace default",
      "ip route|r|addr|a|link|l del|delete",
      "ifconfig|nmcli|networksetup down|off",
      "nmcli delete",
      "ifdown",
      "route del|delete|flush",
      "rfkill block",
    ],
    weight: [4, 2],
    threat: "service_disruption",
    explanation: "It may cut the machine off from the network.",
    safer: "Plan it with somebody at the console.",
    hits: ["rfkill block all", "ip route del default"],
    misses: ["nmcli device status", "ip route show"],
  }),
];

/** A file of settings that is written together with its option: `-p/tmp/x`, `--load=x`. */
const SYSCTL_FILE = /^-(?:[a-z]*[pf].|-l[a-z]*=)/;

/** Whether a part of the registry that contains passwords or keys is written out. */
function savesHive({ name }: SimpleCommand, [verb = "", hive = ""]: readonly string[]): boolean {
  return name === "reg" && /^(?:save|export)$/i.test(verb) && HIVES.test(hive);
}

const HIVES = /^(?:hklm|hkey_local_machine)[\\/]*(?:(?:sam|security).*|system)?$/i;

/** `iptables -I INPUT -j ACCEPT`: a rule for all traffic. */
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
