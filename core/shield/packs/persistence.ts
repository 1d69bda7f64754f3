import { hasFlag } from "../programs/arguments.ts";
import { once, type Rule, type SimpleCommand } from "../model.ts";
import { asFolder, classifyPath, locate, normalizePath } from "../programs/paths.ts";
import { WRITERS, writtenPaths } from "../programs/written.ts";
import { defineRule } from "./define.ts";

/** One pattern for all: a path is looked through once, not once for each place. */
const anyOf = (...places: readonly string[]) =>
  new RegExp(places.map((place) => place.replaceAll(".", "\\.")).join("|"));

const STARTUP = anyOf(
  ".bashrc",
  ".bash_profile",
  ".profile",
  ".zshrc",
  ".zprofile",
  ".zshenv",
  ".bash_login",
  ".bash_logout",
  ".xinitrc",
  ".config/autostart",
  ".config/fish/config.fish",
  "/etc/profile",
  "/etc/bash.bashrc",
  "/etc/rc.local",
  "/etc/cron",
  "/var/spool/cron",
  "/etc/systemd/system",
  ".config/systemd/user",
  "/etc/init.d",
  "/etc/ld.so.preload",
  "/etc/ld.so.conf",
  "authorized_keys",
  "/etc/sudoers",
  "/etc/pam.d",
  "launchagents",
  "launchdaemons",
  "/etc/passwd",
  "/etc/shadow",
  "/etc/group",
  "/etc/hosts.equiv",
  ".rhosts",
  ".git/hooks/",
  "/etc/udev/rules.d",
  "/etc/modules-load.d",
  ".gitconfig",
  ".ssh/config",
  ".ssh/rc",
  "/etc/apt/sources.list",
  "/etc/ssh/sshd_config",
  "/lib/systemd/system",
  "/lib/systemd/user",
  "/etc/environment",
  "/etc/xdg/autostart",
  "/etc/networkmanager/dispatcher.d",
  "/etc/network/if-",
  "/etc/initramfs-tools",
  "/etc/selinux/config",
  ".bash_aliases",
  ".zlogin",
  ".pam_environment",
  ".ssh/environment",
  "/release_agent",
  "/notify_on_release",
);

const ACCOUNT_FILES = [
  "/etc/passwd",
  "/etc/shadow",
  "/etc/gshadow",
  "/etc/sudoers",
  "/etc/ld.so.preload",
  "/etc/pam",
  "/etc/master.passwd",
];

/** What a command writes, and what its redirections do. */
function allWrittenPaths(command: SimpleCommand): readonly string[] {
  const redirected = command.redirections.filter(({ operator, target }) =>
    operator.includes(">") && operator !== ">&" && target !== ""
  );
  return [...redirected.map(({ target }) => target), ...once(command, writtenPaths)]
    .map((path) => asFolder(locate(command.cwd, path)));
}

function startsItself(command: SimpleCommand): boolean {
  return once(command, allWrittenPaths).some((path) => STARTUP.test(path.toLowerCase()));
}

/** `u+s`, `+s`, `u=rwxs`; `g+s` is for shared folders. */
function givesOwner(clause: string): boolean {
  const [, who = "", rights = ""] = /^([ugoa]*)[+=](.*)/.exec(clause) ?? [];
  return rights.includes("s") && (who === "" || who.includes("u") || who.includes("a"));
}

const LOGS = anyOf(
  "/var/log/",
  ".bash_history",
  ".zsh_history",
  "/var/audit",
  "/var/spool/mail",
  "/run/log/journal",
  "/var/run/utmp",
  "/var/log/wtmp",
);

/** What stays behind: start-up files, schedules, rights, and deleted traces. */
export const PERSISTENCE_RULES: readonly Rule[] = [
  defineRule(
    "persistence",
    "setuid",
    ["chmod", "setcap", "chown"],
    (command, words) => {
      const mode = words[0] ?? "";
      if (command.name === "setcap") return words.length > 0;
      if (command.name === "chown") return false;
      return mode.split(",").some(givesOwner) ||
        (mode.length === 4 &&
          (mode.startsWith("4") || mode.startsWith("6") || mode.startsWith("7")));
    },
    [4, 4],
    "privilege_escalation",
    "It lets a program run with its owner's rights, whoever starts it.",
    "Give the right through sudo, for one command.",
  ),
  defineRule(
    "persistence",
    "accounts_file",
    WRITERS,
    (command) =>
      once(command, allWrittenPaths).some((path) =>
        path.startsWith("/etc/") && ACCOUNT_FILES.some((file) =>
          path.startsWith(file) &&
          (path.startsWith("/", file.length) || path.startsWith(".d/", file.length))
        )
      ),
    [5, 4],
    "privilege_escalation",
    "It writes to a file that decides who may log in or become root.",
    "Use visudo, useradd or passwd, which check what they write.",
    ["redirected"],
  ),
  defineRule(
    "persistence",
    "startup_file",
    WRITERS,
    startsItself,
    [3, 4],
    "persistence",
    "It writes to a file that runs or decides by itself later: start-up, schedule, keys or rights.",
    "Have the change reviewed, and keep a copy of the file.",
    ["redirected"],
  ),
  defineRule(
    "persistence",
    "schedule",
    ["crontab", "schtasks", "at", "batch", "register-scheduledtask", "systemd-run", "launchctl"],
    (command, words) => {
      if (command.name === "crontab") {
        return !hasFlag(command, "lr") &&
          (words.length > 0 || command.stdin !== null || hasFlag(command, "e"));
      }
      if (command.name === "at" || command.name === "batch") {
        return command.stdin !== null || hasFlag(command, "f");
      }
      if (command.name === "schtasks") {
        return command.args.some((arg) =>
          ["/create", "/delete", "/change"].includes(arg.toLowerCase())
        );
      }
      if (command.name === "systemd-run") {
        return hasFlag(command, "", "on-calendar", "on-boot", "on-active");
      }
      if (command.name === "launchctl") {
        return words[0] === "load" || words[0] === "bootstrap";
      }
      return true;
    },
    [3, 3],
    "persistence",
    "It schedules something to run later, when nobody looks.",
    "Put the schedule into configuration that is reviewed.",
  ),
  defineRule(
    "persistence",
    "crontab",
    ["crontab"],
    (command) => hasFlag(command, "r"),
    [3, 5],
    "data_loss",
    "It deletes every scheduled job of the user.",
    "Keep what crontab -l says.",
  ),
  defineRule(
    "persistence",
    "cover_tracks",
    [
      "history",
      "journalctl",
      "unset",
      "export",
      "rm",
      "shred",
      "truncate",
      "ln",
      "dmesg",
      "sed",
      "gsed",
    ],
    (command) => {
      const truncates = command.redirections.some(({ operator, target }) =>
        (operator === ">" || operator === ">|") &&
        LOGS.test(normalizePath(locate(command.cwd, target)))
      );
      if (truncates) {
        return command.name === "" ||
          [":", "true", "cat", "echo", "printf"].includes(command.name) &&
            (command.stdin === null);
      }
      if (command.name === "history") return hasFlag(command, "c");
      if (command.name === "journalctl") {
        return command.args.some((arg) => arg.startsWith("--vacuum") || arg === "--rotate");
      }
      if (command.name === "unset") return command.args.includes("HISTFILE");
      if (command.name === "export" || command.name === "") {
        return command.args.some((arg) =>
          arg.startsWith("HISTFILE=/dev/null") || arg === "HISTSIZE=0"
        ) || command.assignments.get("HISTFILE") === "/dev/null" ||
          command.assignments.get("HISTSIZE") === "0";
      }
      if (["rm", "shred", "truncate", "ln"].includes(command.name)) {
        return command.args.some((arg) => LOGS.test(arg) && classifyPath(arg) !== "unknown");
      }
      if (command.name.endsWith("sed")) {
        return once(command, writtenPaths).some((path) =>
          LOGS.test(normalizePath(locate(command.cwd, path)))
        );
      }
      return command.name === "dmesg" && hasFlag(command, "cC");
    },
    [3, 4],
    "defense_evasion",
    "It deletes logs or history.",
    "Rotate logs with logrotate, which keeps them.",
    ["redirected", "assigned"],
  ),
  defineRule(
    "persistence",
    "preload",
    ["export"],
    (command) => {
      const value = command.assignments.get("LD_PRELOAD") ??
        command.assignments.get("LD_AUDIT") ??
        command.assignments.get("DYLD_INSERT_LIBRARIES");
      return (value !== undefined && value !== "" && !value.startsWith("/usr/lib")) ||
        (command.name === "export" && command.args.some((arg) => arg.startsWith("LD_PRELOAD=")));
    },
    [3, 3],
    "persistence",
    "It loads foreign code into the programs that it starts.",
    null,
    ["assigned"],
  ),
  defineRule(
    "code",
    "function_in_variable",
    null,
    (command) => {
      for (const value of command.assignments.values()) if (value.startsWith("() {")) return true;
      return false;
    },
    [4, 5],
    "obfuscation",
    "It hides a function in a variable, which old shells run when they start.",
    null,
    ["assigned"],
  ),
  defineRule(
    "persistence",
    "authorize_key",
    ["ssh-copy-id"],
    (command, words) => words.length > 0 && !command.args.includes("-n"),
    [3, 3],
    "persistence",
    "It lets the holder of a key log in to another machine from now on.",
    "Put the key into configuration that is reviewed.",
  ),
  defineRule(
    "persistence",
    "miner",
    ["xmrig", "minerd", "cgminer", "cpuminer", "ethminer", "t-rex", "nbminer"],
    () => true,
    [3, 3],
    "resource_abuse",
    "It mines coins on this machine.",
    null,
  ),
  defineRule(
    "persistence",
    "mining_pool",
    null,
    minesCoins,
    [3, 3],
    "resource_abuse",
    "It mines coins on this machine.",
    null,
  ),
];

/** This is asked of every command there is. */
function minesCoins({ args }: SimpleCommand): boolean {
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg.charCodeAt(0) === LETTER_S && arg.startsWith("stratum+")) return true;
  }
  return false;
}

const LETTER_S = 0x73;
