import { hasFlag, operands, optionValues } from "../../programs/arguments.ts";
import { holdsSystem, normalizePath } from "../../programs/paths.ts";
import { isSecret } from "../../programs/secrets.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";

const ELEVATORS = ["sudo", "sudo-rs", "doas", "su", "pkexec", "run0"];
const ELEVATED = new Set(ELEVATORS);

/** Variables that make a program load code from somewhere else. */
const LOADERS = new Set([
  "LD_PRELOAD",
  "LD_LIBRARY_PATH",
  "LD_AUDIT",
  "DYLD_INSERT_LIBRARIES",
  "DYLD_LIBRARY_PATH",
  "GCONV_PATH",
  "PYTHONPATH",
  "PYTHONHOME",
  "PYTHONSTARTUP",
  "PERL5LIB",
  "PERL5OPT",
  "PERLLIB",
  "RUBYLIB",
  "RUBYOPT",
  "NODE_PATH",
  "BASH_ENV",
  "ENV",
  "SHELLOPTS",
]);

/** Whether the first folder of a search path is one that anybody, or the caller, writes to. */
function isOpenFirst(path: string): boolean {
  const first = path.split(":", 1)[0]!;
  return first === "" && path.length > 1 ||
    OPEN_FOLDERS.has(normalizePath(first)) || first === "." || first === "./";
}

const OPEN_FOLDERS = new Set(["/tmp", "/var/tmp", "/dev/shm"]);

/** Whether variables in front of a command decide which code a program with other rights loads. */
function loadsOther(command: SimpleCommand): boolean {
  const isElevated = ELEVATED.has(command.name) ||
    command.wrappers.some((wrapper) => ELEVATED.has(wrapper));
  for (const [name, value] of command.assignments) {
    if (name === "PATH" && isOpenFirst(value)) return true;
    if (isElevated && value !== "" && LOADERS.has(name)) return true;
  }
  return command.name === "export" &&
    command.args.some((arg) => arg.startsWith("PATH=") && isOpenFirst(arg.slice(5)));
}

/** `sudo -u#-1`: a number that some versions take for root. */
const isFalseUser = (user: string): boolean => user === "#-1" || user === "#4294967295";

/** The files that `sudoedit` or `sudo -e` opens; null for another command. */
function edited(command: SimpleCommand): readonly string[] | null {
  if (command.name === "sudoedit") return operands(command, USER);
  return command.name === "sudo" &&
        hasFlag({ ...command, args: command.args.slice(0, 3) }, "", "edit") ||
      command.name === "sudo" && (command.args[0] ?? "") === "-e"
    ? operands(command, USER)
    : null;
}

const USER = new Set(["-u", "-g", "-C", "-h"]);

/** Services, the options that name their configuration, and those that only check it. */
const SETTINGS: ReadonlyMap<string, { readonly names: string[]; readonly checks: string[] }> =
  new Map(
    [
      ["nginx", "-c", "-t -T -v -V"],
      ["apache2", "-f -d", "-t -S -v"],
      ["httpd", "-f -d", "-t -S -v"],
      ["apachectl", "-f -d", "-t -S -v configtest"],
      ["apache2ctl", "-f -d", "-t -S -v configtest"],
      ["haproxy", "-f", "-c -v"],
      ["dnsmasq", "-C --conf-file --conf-dir", "--test -v"],
      ["sshd", "-f", "-t -T"],
      ["openvpn", "--config", "--version"],
      ["rsyslogd", "-f", "-N1 -v"],
      ["syslog-ng", "-f --cfgfile", "-s --syntax-only"],
      ["named", "-c", "-v"],
      ["exim", "-C", "-bV"],
      ["php-fpm", "-y -c --fpm-config", "-t --test"],
      ["mysqld", "--defaults-file --defaults-extra-file", "--validate-config --help"],
      ["supervisord", "-c --configuration", "-v"],
      ["collectd", "-C", "-t -T"],
      ["td-agent", "-c --config", "--dry-run"],
      ["fluentd", "-c --config", "--dry-run"],
      ["vector", "-c --config", "validate"],
      ["telegraf", "--config", "--test"],
      ["traefik", "--configFile --configfile", "version"],
      ["caddy", "--config", "validate fmt adapt"],
      ["monit", "-c", "-t"],
      ["proftpd", "-c --config", "-t --configtest"],
      ["smbd", "-s --configfile", "-V"],
      ["tinyproxy", "-c", "-v"],
      ["stunnel", "-fd", "-version"],
    ].map(([name = "", names = "", checks = ""]) => [
      name,
      { names: names.split(" "), checks: checks.split(" ") },
    ]),
  );

/** Whether a service of root gets a configuration that the caller, or anybody, may write. */
function startsWithOwn(command: SimpleCommand): boolean {
  const known = SETTINGS.get(command.name);
  return known !== undefined && command.wrappers.some((wrapper) => ELEVATED.has(wrapper)) &&
    !command.args.some((arg) => known.checks.includes(arg)) &&
    optionValues(command, ...known.names).some((path) => OWN_PLACE.test(path));
}

const OWN_PLACE = /^(?:[^/]|\/(?:home|Users|tmp|var\/tmp|dev\/shm)\/)/;

/** `source=/` and the like: the disk of the host in a container. */
const givesHost = (word: string): boolean =>
  word === "security.privileged=true" || word === "raw.lxc" ||
  /^source=\/(?:$|etc|root|var\/?$)/.test(word);

/** Rights that a command takes by a known spelling. */
export const PRIVILEGE_RULES: readonly Rule[] = [
  rule({
    id: "escalation.false_user",
    title: "Become root by a false user",
    commands: ["sudo", "sudoedit"],
    match: (command) =>
      optionValues(command, "-u", "--user").some(isFalseUser) ||
      command.name === "sudoedit" && hasFlag(command, "s", "shell"),
    evenRehearsed: true,
    weight: [4, 4],
    threat: "privilege_escalation",
    explanation: "It uses a known fault of sudo to become root.",
    safer: null,
    hits: [
      "sudo -u#-1 /bin/bash",
      "sudo -u '#4294967295' id",
      "sudoedit -s '\\' x",
      "sudo --user=#-1 id",
    ],
    misses: ["sudo -u '#1000' id", "sudo -u postgres psql -l", "sudo -l"],
  }),
  rule({
    id: "escalation.loads_code",
    title: "Let a program load foreign code",
    commands: ["export"],
    also: ["assigned"],
    match: loadsOther,
    evenRehearsed: true,
    weight: [4, 3],
    threat: "privilege_escalation",
    explanation:
      "A variable decides which code or programs are loaded, from a folder that others may write to.",
    safer: "Name the program by its full path, and leave these variables out.",
    hits: [
      "LD_LIBRARY_PATH=/tmp sudo apache2",
      "sudo PYTHONPATH=/tmp /usr/bin/python3 /opt/backup.py",
      "PATH=/tmp:$PATH /usr/local/bin/backup",
      "export PATH=.:$PATH",
    ],
    misses: [
      "export PATH=$PATH:$HOME/bin",
      "PATH=./node_modules/.bin:$PATH tsc",
      "LD_LIBRARY_PATH=./lib ./app",
      "sudo env DEBIAN_FRONTEND=noninteractive true",
    ],
  }),
  rule({
    id: "escalation.foreign_settings",
    title: "Start a service as root with settings of one's own",
    commands: [...SETTINGS.keys()],
    match: startsWithOwn,
    weight: [4, 3],
    threat: "privilege_escalation",
    explanation:
      "It starts a service of root with a configuration that needs no rights to write, and that may name any file or program.",
    safer: "Put the configuration where it is reviewed, and let the service manager start it.",
    hits: [
      "sudo nginx -c /home/dev/root-fs.conf",
      "sudo apache2 -f /tmp/a.conf -k start",
      "sudo dnsmasq -C ./x.conf",
      "sudo sshd -f ~/sshd_config -p 2222",
      "doas openvpn --config client.ovpn",
    ],
    misses: [
      "nginx -c ./dev.conf -p .",
      "sudo nginx -t -c /home/dev/site.conf",
      "sudo sshd -T -f /etc/ssh/sshd_config",
      "sudo haproxy -c -f haproxy.cfg",
      "openvpn --version",
    ],
  }),
  rule({
    id: "escalation.edit_system_file",
    title: "Edit a system file as root",
    commands: ["sudoedit", "sudo", "visudo", "vipw", "vigr"],
    match: (command) =>
      command.name.startsWith("vi")
        ? !hasFlag(command, "cVh", "check", "version", "help")
        : edited(command)?.some((path) => holdsSystem(path, command.cwd) || isSecret(path)) ??
          false,
    weight: [4, 3],
    threat: "system_tampering",
    explanation: "It edits a file that belongs to the system with the rights of root.",
    safer: "Change the file through configuration that is reviewed.",
    hits: [
      "sudoedit /etc/sudoers",
      "sudo -e /etc/hosts",
      "visudo -f /etc/sudoers.d/deploy",
      "vipw -s",
    ],
    misses: ["visudo -c", "sudoedit notes.txt", "sudo -k", "visudo -cf sudoers.tmp"],
  }),
  rule({
    id: "escalation.host_namespace",
    title: "Enter the namespaces of the host",
    commands: ["nsenter"],
    match: (command) =>
      optionValues(command, "-t", "--target").includes("1") ||
      command.args.some((arg) => arg.includes("/proc/1/ns")),
    weight: [4, 3],
    threat: "privilege_escalation",
    explanation: "It leaves its container for the namespaces of the machine's first process.",
    safer: "Run the command on the machine itself, under your own account.",
    hits: [
      "nsenter -t 1 -m -u -i -n -p -- bash",
      "nsenter --target=1 --mount sh",
      "nsenter --mount=/proc/1/ns/mnt -- ls",
      "kubectl exec web -- nsenter -t1 -a",
    ],
    misses: ["nsenter --version", "nsenter -t 4711 -n ss -tlnp", "lsns"],
  }),
  rule({
    id: "escalation.root_namespace",
    title: "Take the number of root",
    commands: ["capsh", "setpriv"],
    match: (command) =>
      optionValues(command, "--uid", "--user", "--reuid", "--ruid").some((user) =>
        user === "0" || user === "root"
      ) || command.args.some((arg) => /^--(?:gid=0|caps=|addamb=|inh=)/.test(arg)),
    weight: [4, 3],
    threat: "privilege_escalation",
    explanation: "It starts a program as root, with all rights that the caller may hand on.",
    safer: null,
    hits: [
      "capsh --gid=0 --uid=0 --",
      "setpriv --reuid=0 id",
      "capsh --user=root --",
      "capsh --caps=cap_setuid+eip -- -c id",
    ],
    misses: ["capsh --print", "setpriv --dump", "capsh --decode=0000003fffffffff"],
  }),
  rule({
    id: "escalation.host_in_container",
    title: "Give a container the rights of the host",
    commands: ["lxc", "incus", "lxc-create"],
    match: (command, words) =>
      words.some(givesHost) ||
      optionValues(command, "-c", "--config").some(givesHost) ||
      words.includes("security.privileged") && words.at(-1) === "true",
    weight: [4, 4],
    threat: "privilege_escalation",
    explanation: "It gives a container the rights of root, or the disk of this machine.",
    safer: "Share the one folder that is needed with an unprivileged container.",
    hits: [
      "lxc init alpine x -c security.privileged=true",
      "lxc config set web security.privileged true",
      "lxc config device add web host disk source=/ path=/mnt/root",
    ],
    misses: [
      "lxc list",
      "lxc config show web",
      "lxc config device add web app disk source=/srv/app path=/app",
    ],
  }),
];
