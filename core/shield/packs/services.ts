import { hasFlag, hasOption, optionValues } from "../programs/arguments.ts";
import { type Rule, type SimpleCommand, UNKNOWN } from "../model.ts";
import { defineRule } from "./define.ts";

const CRITICAL = [
  "ssh",
  "sshd",
  "network",
  "networkmanager",
  "systemd-networkd",
  "firewalld",
  "ufw",
  "docker",
  "containerd",
  "kubelet",
  "auditd",
  "rsyslog",
  "systemd-journald",
  "postgresql",
  "postgres",
  "dockerd",
  "mysql",
  "mysqld",
  "systemd",
  "init",
  "mariadb",
  "dbus",
  "cron",
  "crond",
  "fail2ban",
  "falco",
  "crowdstrike",
  "falcon-sensor",
  "etcd",
  "systemd-resolved",
  "apparmor",
  "wazuh-agent",
  "osqueryd",
  "lsass",
  "csrss",
  "wininit",
  "winlogon",
  "svchost",
  "windefend",
  "msmpeng",
  "mpssvc",
  "eventlog",
  "sysmon",
];

function isCritical(unit: string): boolean {
  const bare = unit.toLowerCase().split(".", 1)[0] ?? "";
  return CRITICAL.includes(bare) || unit.includes("*");
}

const STOPS = new Set([
  "stop",
  "disable",
  "mask",
  "kill",
  "isolate",
  "unload",
  "bootout",
  "remove",
  "delete",
  "off",
]);

function stopsService(command: SimpleCommand, words: readonly string[]): string | null {
  switch (command.name) {
    case "service":
    case "rc-service":
      return STOPS.has(words[1] ?? "") ? words[0] ?? "" : null;
    case "chkconfig":
    case "update-rc.d":
    case "rc-update":
      return words.some((word) => STOPS.has(word) || word === "del") ? words[0] ?? "" : null;
    default:
      return STOPS.has(words[0] ?? "") ? words.slice(1).find(isCritical) ?? words[1] ?? "" : null;
  }
}

const MANAGERS = [
  "systemctl",
  "service",
  "rc-service",
  "chkconfig",
  "update-rc.d",
  "rc-update",
  "launchctl",
  "initctl",
  "sc",
  "sv",
  "supervisorctl",
  "rcctl",
  "monit",
  "pm2",
  "stop-service",
];

/** Signals that tell a service to read its settings or open its logs again. */
const RELOADS = /^-(?:SIG)?(?:HUP|USR1|USR2|WINCH|0|1)$/;
const SIGNAL = /^-(?:\d+|[A-Z]+\d?)$/;

function onlyReloads({ args }: SimpleCommand): boolean {
  const signals = args.filter((arg) => SIGNAL.test(arg));
  return signals.length > 0 && signals.every((signal) => RELOADS.test(signal));
}

/** Of `net`: what decides who may use the machine, or see its folders. */
const NET_CHANGES = new Set(["group", "localgroup", "share", "user"]);

const USERMOD_OPTIONS = ["append", "groups", "gid", "uid", "login", "lock", "home", "shell"];

const BUSES = new Set(["busctl", "dbus-send"]);
const POWER_CALL = /(?:^|\.)(?:PowerOff|Reboot|Halt|KExec|Suspend|Hibernate)$/;

/** Services, processes and users. */
export const SERVICE_RULES: readonly Rule[] = [
  defineRule(
    "services",
    "stop_critical",
    MANAGERS,
    (command, words) => {
      const unit = stopsService(command, words);
      return unit !== null && isCritical(unit);
    },
    [4, 3],
    "service_disruption",
    "It stops a service without which the machine cannot be reached, watched or used.",
    "Restart it instead, or plan the change with somebody at the console.",
  ),
  defineRule(
    "services",
    "stop",
    MANAGERS,
    (command, words) => {
      const unit = stopsService(command, words);
      return unit !== null && !isCritical(unit);
    },
    [3, 3],
    "service_disruption",
    "It stops or disables a service.",
    "Restart it instead.",
  ),
  defineRule(
    "services",
    "power",
    [
      "shutdown",
      "reboot",
      "halt",
      "poweroff",
      "init",
      "telinit",
      "systemctl",
      "stop-computer",
      "restart-computer",
      "kexec",
      "pm-suspend",
      "busctl",
      "dbus-send",
      "gdbus",
    ],
    (command, words) => {
      if (command.name.endsWith("dbus") || BUSES.has(command.name)) {
        return command.args.some((arg) => POWER_CALL.test(arg));
      }
      if (command.name === "init" || command.name === "telinit") {
        return ["0", "1", "6", "s", "S"]
          .includes(words[0] ?? "");
      }
      if (command.name === "systemctl") {
        return [
          "reboot",
          "poweroff",
          "halt",
          "kexec",
          "emergency",
          "rescue",
          "suspend",
          "hibernate",
          "soft-reboot",
          "set-default",
        ].includes(words[0] ?? "");
      }
      return !(command.name === "shutdown" && hasFlag(command, "c"));
    },
    [4, 3],
    "service_disruption",
    "It stops or restarts the machine.",
    "Restart the one service that needs it.",
  ),
  defineRule(
    "services",
    "kill_everything",
    ["kill", "killall5", "pkill", "killall", "skill", "kill.exe", "taskkill"],
    (command) => {
      const targets = command.args.filter((arg, i) => arg === "-1" ? i > 0 : !arg.startsWith("-"));
      if (command.name === "killall5") {
        return true;
      }
      if (command.name === "kill") {
        return targets.includes("-1") || targets.includes("1") ||
          (command.args.includes("--") && command.args.includes("-1"));
      }
      return command.name === "pkill" &&
        (command.args.includes(".") || command.args.includes("") ||
          (hasFlag(command, "u", "euid") && targets.includes("root")));
    },
    [5, 4],
    "service_disruption",
    "It kills every process, or the first one.",
    "Kill the one process by its number.",
  ),
  defineRule(
    "services",
    "kill_critical",
    ["pkill", "killall", "taskkill", "stop-process", "kill"],
    (command, words) =>
      !onlyReloads(command) &&
      words.some((word) =>
        command.name !== "kill"
          ? isCritical(word)
          // The number that `pidof sshd` prints.
          : word.startsWith(UNKNOWN) && isCritical(word.slice(1))
      ),
    [4, 3],
    "service_disruption",
    "It kills a service without which the machine cannot be reached, watched or used.",
    "Restart the service instead.",
  ),
  defineRule(
    "services",
    "kill_by_name",
    ["pkill", "killall", "taskkill", "stop-process", "xkill"],
    (_command, words) => words.length > 0,
    [2, 3],
    "service_disruption",
    "It kills every process of that name.",
    "Kill the one process by its number.",
  ),
  defineRule(
    "services",
    "users",
    [
      "userdel",
      "groupadd",
      "groupmod",
      "newusers",
      "dscl",
      "deluser",
      "groupdel",
      "delgroup",
      "useradd",
      "adduser",
      "usermod",
      "gpasswd",
      "visudo",
      "dseditgroup",
      "vipw",
      "chsh",
      "net",
    ],
    (command, words) => {
      if (command.name === "net") {
        const what = (words[0] ?? "").toLowerCase();
        return what === "stop" ||
          (NET_CHANGES.has(what) &&
            words.slice(1).some((word) => word.startsWith("/") || word.includes("=")));
      }
      if (command.name === "useradd" || command.name === "adduser") return words.length > 0;
      if (command.name === "dscl") {
        return command.args.some((arg) => ["-create", "-delete", "-append"].includes(arg));
      }
      if (command.name === "visudo") return !hasFlag(command, "c", "check");
      if (command.name === "usermod") return hasFlag(command, "aGgulLdso", ...USERMOD_OPTIONS);
      return true;
    },
    [4, 3],
    "account_change",
    "It changes who may use the machine, and with what rights.",
    "Have an administrator do it through configuration.",
  ),
  defineRule(
    "services",
    "resource_hog",
    ["stress", "stress-ng", "fallocate", "hping3", "slowloris"],
    (command, words) =>
      command.name === "fallocate"
        ? optionValues(command, "-l", "--length").some((size) =>
          /^(?:\d+(?:\.\d+)?[TPE]|\d{3,}G|\d{12,})/i.test(size)
        )
        : command.name === "hping3"
        ? hasFlag(command, "", "flood")
        : command.name.startsWith("stress")
        ? words.length >= 0 && command.args.length > 0
        : command.name === "slowloris",
    [3, 3],
    "denial_of_service",
    "It uses up the machine or floods another one.",
    "Set a small limit, on a test machine.",
  ),
  defineRule(
    "services",
    "fills_disk",
    ["dd", "cat", "yes"],
    fillsDisk,
    [3, 3],
    "denial_of_service",
    "It writes without end, until the disk is full.",
    "Say how much: dd count=, head -c.",
  ),
  defineRule(
    "services",
    "remote_module",
    ["ansible"],
    (command) =>
      !hasOption(command, "--check", "-C") &&
      (optionValues(command, "-m", "--module-name").some((name) => ENDING_MODULE.test(name)) ||
        optionValues(command, "-a", "--args").some((text) => text.includes("state=absent"))),
    [4, 3],
    "service_disruption",
    "It restarts machines, or removes what is installed on them, on every host it names.",
    "Run it with --check first, and on one host.",
  ),
];

/** Modules of ansible that end a machine's work. */
const ENDING_MODULE = /(?:^|\.)(?:reboot|shutdown|win_reboot)$/;

const ENDLESS = new Set(["/dev/zero", "/dev/random", "/dev/urandom"]);

/** Whether what never ends is written to a file, and nothing says how much of it. */
function fillsDisk(command: SimpleCommand, words: readonly string[]): boolean {
  const isFile = (path: string) => path !== "" && !path.startsWith("/dev/");
  if (command.name === "dd") {
    const valueOf = (name: string) =>
      words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
    return ENDLESS.has(valueOf("if") ?? "") && valueOf("count") === undefined &&
      isFile(valueOf("of") ?? "");
  }
  return (command.name === "yes" || words.some((word) => ENDLESS.has(word))) &&
    command.redirections.some(({ operator, target }) =>
      operator.startsWith(">") && operator !== ">&" && isFile(target)
    );
}
