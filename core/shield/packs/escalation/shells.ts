import {
  hasFlag,
  hasOption,
  isRehearsal,
  operands,
  optionValues,
} from "../../programs/arguments.ts";
import { SHELLS } from "../../programs/families/shells.ts";
import { normalizePath } from "../../programs/paths.ts";
import { innerCommand } from "../../programs/wrapper.ts";
import { wrappersOf } from "../../programs/wrappers.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";

/** Wrappers in which a shell is daily work: other machines, containers, terminals, environments, other shells. */
const PLACES = new Set([
  "abduco alacritty atuin autossh bundle chezmoi conda container crictl ctr dbus-run-session devbox",
  "devcontainer direnv distrobox docker docker-compose dotenv dotenvx dtach firejail foot fly flyctl",
  "gcloud gnome-terminal guix hatch heroku incus kitty konsole kubectl kubecolor limactl lxc lxc-attach",
  "lxc-execute mamba micromamba microk8s k3s minikube mosh multipass nerdctl nix nix-shell oc pct pdm pipenv pixi",
  "podman podman-compose poetry proot rlwrap runc rye screen slogin ssh ssh-agent sshpass tmux toolbox tsh urxvt uv",
  "vagrant wsl xfce4-terminal xterm zellij cross-env keychain",
].flatMap((line) => line.split(" ")));

/** Wrappers that change nothing about who starts a shell, and where. */
const NEUTRAL = new Set([
  ...SHELLS,
  "eval",
  "exec",
  "command",
  "builtin",
  "cmd",
  ".",
  "source",
  "env-cmd",
]);

/** Whether a shell gets nothing to run, so that it waits for somebody who types. */
function waitsForInput(command: SimpleCommand): boolean {
  if (command.stdin !== null) return false;
  let isTold = false;
  for (let at = 0; at < command.args.length; at++) {
    const arg = command.args[at]!;
    if (VALUED.has(arg)) at++;
    else if (!arg.startsWith("-") && !arg.startsWith("+")) isTold = true;
    else if (ANSWERS.has(arg) || (!arg.startsWith("--") && /[cnN]/.test(arg))) isTold = true;
  }
  return !isTold || command.args.every((arg) => arg === "-s" || arg === "-");
}

const VALUED = new Set(["--rcfile", "--init-file", "-o", "-O", "+o", "+O"]);
const ANSWERS = new Set(["--version", "--help", "--dump-strings", "--command"]);

/** Whether a shell keeps the rights of a program's owner: `sh -p`. */
const keepsRights = (command: SimpleCommand): boolean =>
  command.args[0] !== undefined && /^-[eiluvx]*p[ceiluvx]*$/.test(command.args[0]);

/** The program that starts a shell, leaving out those that do not matter; null for none. */
const starterOf = ({ wrappers }: SimpleCommand): string | null =>
  wrappers.findLast((wrapper) => !NEUTRAL.has(wrapper)) ?? null;

function opensShell(command: SimpleCommand): boolean {
  if (keepsRights(command)) return true;
  const starter = starterOf(command);
  return starter !== null && !PLACES.has(starter) && waitsForInput(command);
}

/** Programs whose menus, hooks or helpers are given by an option, and the options that start one. */
const HELPERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["tcpdump", ["-z"]],
  ["aria2c", ["--on-download-error", "--on-download-start", "--on-download-complete"]],
  ["wget", ["--use-askpass"]],
  ["nano", ["-s", "--speller"]],
  ["pico", ["-s"]],
  ["openvpn", ["--up", "--down", "--tls-verify", "--route-up", "--ipchange"]],
  ["scp", ["-S"]],
  ["sftp", ["-S", "-D"]],
  ["sort", ["--compress-program"]],
  ["gem", ["-e"]],
  ["dosbox", ["-c"]],
  ["nmap", ["--datadir"]],
  ["dhclient", ["-sf"]],
  ["git", ["--upload-pack", "--receive-pack"]],
  ["tar", ["--rsh-command", "--rmt-command", "--to-command", "-I", "--use-compress-program", "-F"]],
  ["rsync", ["-e", "--rsh"]],
  ["zip", ["-TT", "--unzip-command"]],
  ["split", ["--filter"]],
]);

/** `service ../../bin/sh`: a path that leaves the folder of services. */
const leavesFolder = (command: SimpleCommand): boolean =>
  operands(command).some((word) => word.startsWith("../"));

/** `core.pager=sh -c text`, `core.hooksPath=/tmp/x`, `protocol.ext.allow=always`. */
function changesGit(setting: string): boolean {
  const equals = setting.indexOf("=");
  const name = setting.slice(0, equals).toLowerCase(), value = setting.slice(equals + 1);
  return name === "protocol.ext.allow" ? value !== "never" : name.startsWith("core.") &&
    isOwnProgram(value.startsWith("!") ? value.slice(1) : value);
}

const TEMPORARY = ["/tmp/", "/var/tmp/", "/dev/shm/"];

/** Whether a helper is a shell, a text for one, or a program in a folder that everybody writes to. */
function isOwnProgram(text: string): boolean {
  const first = text.trim().split(/\s/, 1)[0] ?? "";
  const path = normalizePath(first);
  return SHELLS.has(path.slice(path.lastIndexOf("/") + 1)) ||
    TEMPORARY.some((folder) => path.startsWith(folder));
}

/** Shells that are opened where none is expected. */
export const SHELL_RULES: readonly Rule[] = [
  rule({
    id: "escalation.shell",
    title: "Open a shell from another program",
    commands: [...SHELLS],
    match: opensShell,
    weight: [4, 3],
    threat: "privilege_escalation",
    explanation:
      "A program that runs with other rights, or is meant to run no shell, opens one for whoever types.",
    safer: "Run the one command that is needed, by its name.",
    hits: [
      "vim -c ':!/bin/sh'",
      "sudo bash",
      "awk 'BEGIN {system(\"/bin/sh\")}'",
      "find . -exec /bin/sh -p \\; -quit",
      'python3 -c \'import os; os.execl("/bin/sh", "sh", "-p")\'',
      "tar -cf /dev/null x --checkpoint=1 --checkpoint-action=exec=/bin/sh",
    ],
    misses: [
      "docker exec -it web bash",
      "find . -name '*.sh' -exec sh -n {} \\;",
      "sudo bash deploy.sh",
      "ssh web1 bash",
      "bash -c 'echo hi'",
      "awk 'BEGIN {system(\"date\")}'",
    ],
  }),
  rule({
    id: "escalation.pager",
    title: "Open a pager with other rights",
    commands: ["git", "man", "info", "systemctl", "journalctl"],
    match: (command) =>
      command.wrappers.includes("sudo") && command.stdin === null &&
      (command.name === "man" || command.name === "info" ||
        command.name === "git" &&
          (hasOption(command, "-p", "--paginate") || operands(command)[0] === "help")),
    evenRehearsed: true,
    weight: [4, 2],
    threat: "privilege_escalation",
    explanation: "It opens a pager with the rights of root, from which a key opens a shell.",
    safer: "Read it without sudo.",
    hits: ["sudo git -p help config", "sudo man man", "sudo git --paginate log"],
    misses: ["git -p log", "man ls", "sudo git status"],
  }),
  rule({
    id: "escalation.helper",
    title: "Give a program another helper",
    commands: [...HELPERS.keys(), "service", "invoke-rc.d"],
    match: (command) =>
      command.name === "service" || command.name === "invoke-rc.d"
        ? leavesFolder(command)
        : command.name === "git"
        ? optionValues(command, "-c", "--config").some(changesGit)
        : optionValues(command, ...HELPERS.get(command.name) ?? []).some(isOwnProgram),
    evenRehearsed: true,
    weight: [4, 3],
    threat: "privilege_escalation",
    explanation: "It makes a program start a shell, or a program that anybody may have written.",
    safer: "Run the one command that is needed, by its name.",
    hits: [
      "sudo tcpdump -ln -i lo -w /dev/null -W 1 -G 1 -z /tmp/x.sh -Z root",
      "sudo service ../../bin/sh",
      "sort --compress-program=/tmp/x -S 1b big.txt",
      "nano -s /bin/sh",
    ],
    misses: [
      "tcpdump -i eth0 -w out.pcap",
      "service nginx status",
      "sort --compress-program=gzip big.txt",
      "nano notes.txt",
    ],
  }),
  rule({
    id: "escalation.rights_shell",
    title: "Open a shell of another user",
    commands: [
      "sudo",
      "sudo-rs",
      "doas",
      "su",
      "pkexec",
      "run0",
      "newgrp",
      "machinectl",
      "systemd-run",
      "chroot",
      "nsenter",
      "unshare",
      "script",
      "screen",
      "tmux",
      "start-process",
    ],
    match: opensOther,
    weight: [4, 3],
    threat: "privilege_escalation",
    explanation: "It opens a shell with other rights, in which nobody sees what is typed.",
    safer: "Run the one command that is needed with sudo.",
    hits: [
      "sudo -i",
      "su -",
      "sudo su",
      "pkexec",
      "doas -s",
      "chroot /host",
      "machinectl shell root@",
      "screen -x root/shared",
      "Start-Process powershell -Verb RunAs",
      "tmux -S /tmp/shared attach",
      "sudo tmux -S /run/admin.sock new -d",
    ],
    misses: [
      "sudo -V",
      "su - deploy -c whoami",
      "sudo -n true",
      "sudo -u postgres psql -l",
      "chroot --help",
      "machinectl list",
      "screen -x work",
      "tmux attach -t work",
      "tmux -S ~/.tmux.sock attach",
    ],
  }),
];

function opensOther(command: SimpleCommand): boolean {
  const { name, args, stdin } = command;
  if (stdin !== null) return false;
  const inner = innerOf(command);
  switch (name) {
    case "su":
      return !hasFlag(command, "ch", "command", "session-command", "help") && !args.includes("--");
    case "newgrp":
      return args.length > 0;
    case "start-process":
      return optionValues(command, "-Verb").some((verb) => verb.toLowerCase() === "runas") &&
        operands(command).some((word) =>
          SHELLS.has(word) || /^(?:powershell|pwsh|cmd)\b/.test(word)
        );
    case "screen":
      return hasFlag(command, "xr") && operands(command).some((word) => /^\w+\//.test(word));
    case "tmux":
      return optionValues(command, "-S").some((path) => !OWN_SOCKETS.test(path)) &&
        (command.wrappers.includes("sudo") ||
          operands(command).some((word) => ATTACHES.has(word)));
    case "machinectl":
      return operands(command)[0] === "shell" && inner.length === 0;
    case "systemd-run":
      return hasFlag(withoutInner(command, inner), "S", "shell");
    case "script":
      return args.includes("/dev/null") && inner.length === 0 && !hasFlag(command, "c", "command");
    default:
      return inner.length === 0 && !isRehearsal(command) && entersWithout(command);
  }
}

/** Where tmux keeps the sockets of each user. */
const OWN_SOCKETS = /^(?:~|\/tmp\/tmux-\d+\/|[^/])/;
const ATTACHES = new Set(["a", "at", "attach", "attach-session"]);

/** Whether a program that starts others opens a shell where none is named. */
function entersWithout(command: SimpleCommand): boolean {
  switch (command.name) {
    case "pkexec":
    case "run0":
      return true;
    case "chroot":
      return command.args.length > 0;
    case "nsenter":
      return hasOption(command, "-t", "--target") || optionValues(command, "-t").length > 0;
    case "unshare":
      return hasFlag(command, "r", "map-root-user");
    default:
      return hasFlag(command, "is", "login", "shell") && !hasFlag(command, "e", "edit");
  }
}

/** The program that a wrapper starts, with its arguments; empty for none. */
function innerOf({ name, args }: SimpleCommand): readonly string[] {
  for (const wrapper of wrappersOf(name)) {
    const inner = innerCommand(wrapper, args);
    if (inner !== null) return inner.argv;
  }
  return [];
}

/** The command without the program that it starts. */
const withoutInner = (command: SimpleCommand, inner: readonly string[]): SimpleCommand => ({
  ...command,
  args: command.args.slice(0, command.args.length - inner.length),
});
