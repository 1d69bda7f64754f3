import { FROM_DECODER, FROM_NETWORK, once, type SimpleCommand } from "../model.ts";
import { writtenPaths } from "../programs/effects.ts";
import { factsOf } from "../programs/families.ts";
import { asFolder, isShellStartup, locate } from "../programs/paths.ts";

/** One pattern for all: a path is looked through once, not once for each place. */
export const anyOf = (...places: readonly string[]) =>
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

/** What a command writes, and what its redirections do. */
export function allWrittenPaths(command: SimpleCommand): readonly string[] {
  const redirected = command.redirections.filter(({ operator, target }) =>
    operator.includes(">") && operator !== ">&" && target !== ""
  );
  return [...redirected.map(({ target }) => target), ...once(command, writtenPaths)]
    .map((path) => asFolder(locate(command.cwd, path)));
}

/** Whether a command writes to a file that runs or decides by itself later, and the content is not plain. */
export function startsItself(command: SimpleCommand): boolean {
  return once(command, allWrittenPaths).some((path) =>
    OWN.has(path) || isShellStartup(path)
      ? !keepsOwn(command)
      : STARTUP.test(path.toLowerCase()) && !OWN_COPY.test(path)
  );
}

/** A copy that nothing reads: `~/.bashrc.bak`. */
const OWN_COPY = /^~\/\.\w+(?:\.(?:bak|backup|old|orig|save|\d+)|~)\/$/;

/** Files of the caller's own programs that may also name programs to run. */
const OWN: ReadonlySet<string> = new Set([
  "~/.gitconfig/",
  "~/.ssh/config/",
  "~/.config/fish/config.fish/",
]);

/** Words of these files that name a program, or another file to read. */
const NAMES_PROGRAM = /command|exec|!|hook|fsmonitor|include|askpass|helper/i;

/** Whether a command adds to such a file what can be read, or copies one of the caller's own files there. */
function keepsOwn(command: SimpleCommand): boolean {
  const { name, args, stdin, redirections } = command;
  if (name === "" || NETWORKED.get(name) === "network" || stdin?.network || stdin?.decoded) {
    return false;
  }
  if (redirections.some(({ operator }) => operator === ">" || operator === ">|")) return false;
  if (args.some((arg) => arg.includes(FROM_NETWORK) || arg.includes(FROM_DECODER))) return false;
  if (COPIERS.has(name)) return args.slice(0, -1).every((arg) => !/^[/\0]/.test(arg));
  const text = [...args, stdin?.text ?? ""].join(" ");
  if (MASKS.test(text)) return false;
  return redirections.length === 0 && stdin === null || !NAMES_PROGRAM.test(text) ||
    once(command, allWrittenPaths).every(isShellStartup);
}

/** An alias or a function under the name of a program that asks for a password. */
const MASKS =
  /\b(?:alias\s+(?:sudo|su|doas|ssh|passwd|login|gpg)=|(?:sudo|su|doas|ssh|passwd|gpg)\s*\(\))/;

const NETWORKED = factsOf("output");
const COPIERS = new Set(["cp", "mv", "ln", "install", "rsync"]);
