import { LISTED, type Rule, rule, type SimpleCommand } from "../rule.ts";
import { hasFlag, hasOption, optionValues } from "../../programs/arguments.ts";
import { KILL_LISTED, onlyReloads } from "./killing.ts";
import { isCritical, MANAGERS, stopsService, systemctlWords } from "./stopping.ts";

/** Subcommands of `net` that decide who may use the machine or see its folders. */
const NET_CHANGES = new Set(["group", "localgroup", "share", "user"]);

const USERMOD_OPTIONS = ["append", "groups", "gid", "uid", "login", "lock", "home", "shell"];

const BUSES = new Set(["busctl", "dbus-send"]);
const POWER_CALL = /(?:^|\.)(?:PowerOff|Reboot|Halt|KExec|Suspend|Hibernate)$/;

/** Services, processes and users. */
export const SERVICE_RULES: readonly Rule[] = [
  rule({
    id: "services.stop_critical",
    title: "Stop a critical service",
    commands: MANAGERS,
    match: (command, words) => {
      const unit = stopsService(command, words);
      return unit !== null && isCritical(unit);
    },
    weight: [4, 3],
    threat: "service_disruption",
    explanation: "It stops a service without which the machine cannot be reached, watched or used.",
    safer: "Restart it instead, or plan the change with somebody at the console.",
    hits: ["systemctl stop sshd", "rc-service sshd stop"],
    misses: ["systemctl status sshd", "service nginx status"],
  }),
  rule({
    id: "services.stop",
    title: "Stop or disable a service",
    commands: MANAGERS,
    match: (command, words) => {
      const unit = stopsService(command, words);
      return unit !== null && !isCritical(unit);
    },
    weight: [3, 3],
    threat: "service_disruption",
    explanation: "It stops or disables a service.",
    safer: "Restart it instead.",
    hits: [
      "systemctl stop nginx",
      "pm2 delete all",
      "launchctl unload -w /Library/LaunchDaemons/com.acme.web.plist",
      "launchctl bootout system/com.acme.web",
      "launchctl disable system/com.acme.web",
      "systemctl -H web1 stop app",
      "Stop-Service Spooler -WhatIf:$false",
    ],
    misses: [
      "Stop-Service Spooler -WhatIf",
      "systemctl start nginx",
      "systemctl --user stop pipewire",
      "pm2 list",
      "launchctl list com.acme.web",
      "launchctl print system/com.acme.web",
    ],
  }),
  rule({
    id: "services.power",
    title: "Stop or restart the machine",
    commands: [
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
    match: (command, words) => {
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
        ].includes(systemctlWords(command)[0] ?? "");
      }
      return !(command.name === "shutdown" && hasFlag(command, "c"));
    },
    weight: [4, 3],
    threat: "service_disruption",
    explanation: "It stops or restarts the machine.",
    safer: "Restart the one service that needs it.",
    hits: ["shutdown -h now", "init 0", "systemctl -H root@db2.internal reboot"],
    misses: ["shutdown --help", "busctl list", "systemctl -H reboot status"],
  }),
  rule({
    id: "services.kill_everything",
    title: "Kill every process",
    commands: ["kill", "killall5", "pkill", "killall", "skill", "kill.exe", "taskkill"],
    match: (command) => {
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
    weight: [5, 4],
    threat: "service_disruption",
    explanation: "It kills every process, or the first one.",
    safer: "Kill the one process by its number.",
    hits: ["kill -9 -1", "pkill -f ."],
    misses: ["kill -TERM 4321", "kill $(cat app.pid)"],
  }),
  rule({
    id: "services.kill_critical",
    title: "Kill a critical service",
    commands: ["pkill", "killall", "taskkill", "stop-process", "kill"],
    match: (command, words) =>
      !onlyReloads(command) &&
      words.some((word) =>
        command.name !== "kill"
          ? isCritical(word)
          // The number that `pidof sshd` prints.
          : word.includes(LISTED) && isCritical(word.slice(word.indexOf(LISTED) + LISTED.length))
      ),
    weight: [4, 3],
    threat: "service_disruption",
    explanation: "It kills a service without which the machine cannot be reached, watched or used.",
    safer: "Restart the service instead.",
    hits: ["pkill sshd", "kill -9 $(pidof auditd)"],
    misses: ["pgrep -fa sshd", "kill -9 4711"],
  }),
  KILL_LISTED,
  rule({
    id: "services.kill_by_name",
    title: "Kill processes by name",
    commands: ["pkill", "killall", "taskkill", "stop-process", "xkill"],
    match: (command, words) =>
      !onlyReloads(command) && (words.length > 0 || command.stdin !== null),
    weight: [2, 4],
    threat: "service_disruption",
    explanation: "It kills every process of that name.",
    safer: "Kill the one process by its number.",
    hits: ["pkill node", 'taskkill /fi "imagename eq node.exe"'],
    misses: ["pgrep -fa node", "kill -TERM 4321"],
  }),
  rule({
    id: "services.users",
    title: "Change users and their rights",
    commands: [
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
    match: (command, words) => {
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
    weight: [4, 3],
    threat: "account_change",
    explanation: "It changes who may use the machine, and with what rights.",
    safer: "Have an administrator do it through configuration.",
    hits: ["userdel -r anna", "groupadd -g 0 x"],
    misses: ["usermod -c 'Bob' bob", "visudo -cf /tmp/sudoers.new"],
  }),
  rule({
    id: "services.resource_hog",
    title: "Use up a machine",
    commands: ["stress", "stress-ng", "fallocate", "hping3", "slowloris"],
    match: (command, words) =>
      command.name === "fallocate"
        ? optionValues(command, "-l", "--length").some((size) =>
          /^(?:\d+(?:\.\d+)?[TPE]|\d{3,}G|\d{12,})/i.test(size)
        )
        : command.name === "hping3"
        ? hasFlag(command, "", "flood")
        : command.name.startsWith("stress")
        ? words.length >= 0 && command.args.length > 0
        : command.name === "slowloris",
    weight: [3, 3],
    threat: "denial_of_service",
    explanation: "It uses up the machine or floods another one.",
    safer: "Set a small limit, on a test machine.",
    hits: ["stress-ng --cpu 64", "fallocate -l 500G /fill"],
    misses: ["fallocate -l 50G disk.img", "nproc"],
  }),
  rule({
    id: "services.fills_disk",
    title: "Fill the disk",
    commands: ["dd", "cat", "yes"],
    match: fillsDisk,
    weight: [3, 3],
    threat: "denial_of_service",
    explanation: "It writes until the disk is full.",
    safer: "Set a limit: dd count=, head -c.",
    hits: ["yes > /tmp/fill", "cat /dev/urandom > /tmp/fill"],
    misses: ["yes > /dev/null &", "dd if=/dev/zero of=/dev/null"],
  }),
  rule({
    id: "services.remote_module",
    title: "Restart or clear many machines",
    commands: ["ansible"],
    match: (command) =>
      !hasOption(command, "--check", "-C") &&
      (optionValues(command, "-m", "--module-name").some((name) => ENDING_MODULE.test(name)) ||
        optionValues(command, "-a", "--args").some((text) => text.includes("state=absent"))),
    weight: [4, 3],
    threat: "service_disruption",
    explanation: "It restarts every named host, or removes installed software from it.",
    safer: "Run it with --check first, and on one host.",
    hits: ["ansible all -b -m reboot", "ansible all -m apt -a 'name=nginx state=absent'"],
    misses: ["ansible all -m ping", "ansible-playbook site.yml --check"],
  }),
];

/** Modules of ansible that stop a machine. */
const ENDING_MODULE = /(?:^|\.)(?:reboot|shutdown|win_reboot)$/;

const ENDLESS = new Set(["/dev/zero", "/dev/random", "/dev/urandom"]);

/** Whether an endless output is written to a file without a limit. */
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
