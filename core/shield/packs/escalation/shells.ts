import type { Rule, SimpleCommand } from "../../model.ts";
import { hasFlag, hasOption, operands, optionValues } from "../../programs/arguments.ts";
import { SHELLS } from "../../programs/families/shells.ts";
import { normalizePath } from "../../programs/paths.ts";
import { rule } from "../rule.ts";

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
  ["crontab", []],
]);

/** `service ../../bin/sh`: a path that leaves the folder of services. */
const leavesFolder = (command: SimpleCommand): boolean =>
  operands(command).some((word) => word.startsWith("../"));

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
    id: "escalation.helper",
    title: "Give a program another helper",
    commands: [...HELPERS.keys(), "service", "invoke-rc.d"],
    match: (command) =>
      command.name === "service" || command.name === "invoke-rc.d"
        ? leavesFolder(command)
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
    ],
    misses: [
      "sudo -V",
      "su - deploy -c whoami",
      "sudo -n true",
      "sudo -u postgres psql -l",
      "chroot --help",
      "machinectl list",
    ],
  }),
];

function opensOther(command: SimpleCommand): boolean {
  const { name, args, stdin } = command;
  switch (name) {
    case "sudo":
    case "sudo-rs":
    case "doas":
      return stdin === null && hasFlag(ownOptions(command), "is", "login", "shell") &&
        !hasFlag(ownOptions(command), "e", "edit") && endsHere(command);
    case "su":
      return stdin === null && !hasFlag(command, "ch", "command", "session-command", "help") &&
        !args.includes("--");
    case "pkexec":
      return stdin === null && operands(command, USER_VALUED).length === 0;
    case "run0":
    case "newgrp":
      return stdin === null && operands(command, USER_VALUED).length < (name === "run0" ? 1 : 2) &&
        (name === "run0" || args.length > 0);
    case "machinectl":
      return operands(command)[0] === "shell" && operands(command).length < 3;
    case "systemd-run":
      return hasFlag(command, "S", "shell");
    case "chroot":
      return stdin === null && operands(command).length === 1;
    case "script":
      return args.includes("/dev/null") && !hasFlag(command, "c", "command") &&
        operands(command).length === 1;
    case "nsenter":
      return stdin === null && endsHere(command) && hasOption(command, "-t", "--target");
    default:
      return hasFlag(command, "r", "map-root-user");
  }
}

const USER_VALUED = new Set(["-u", "--user", "-g", "--group", "-D", "--chdir", "-c", "-C", "-a"]);

/** Only the options before the inner command. */
function ownOptions(command: SimpleCommand): SimpleCommand {
  const end = firstWord(command);
  return end < 0 ? command : { ...command, args: command.args.slice(0, end) };
}

/** The place of the first word that is neither an option nor its value. */
function firstWord({ args }: SimpleCommand): number {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === "--") return at + 1 < args.length ? at + 1 : -1;
    if (VALUED_HERE.has(arg)) at++;
    else if (!arg.startsWith("-") && !/^\w+=/.test(arg)) return at;
  }
  return -1;
}

const VALUED_HERE = new Set([
  "-u",
  "-g",
  "-p",
  "-C",
  "-h",
  "-r",
  "-t",
  "-U",
  "--user",
  "--group",
  "--target",
  "-S",
  "-G",
]);

const endsHere = (command: SimpleCommand): boolean => firstWord(command) < 0;
