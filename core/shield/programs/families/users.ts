import { type Inner, shellInput, shellText } from "../../interpreter/inner.ts";
import type { SimpleCommand } from "../../model.ts";
import { hasFlag, optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { always } from "../texts.ts";

const asksForShell = (command: SimpleCommand): boolean => hasFlag(command, "is", "login", "shell");

/** `su [-] [user] -c text`, `runuser -u user -- program`. */
function unwrapSu(command: SimpleCommand): Inner[] {
  const texts = optionValues(command, "-c", "--command", "--session-command").filter((text) =>
    text !== "ommand"
  );
  const cluster = command.args.findIndex((arg) =>
    arg.startsWith("-") && !arg.startsWith("--") && arg.length > 2 && arg.endsWith("c")
  );
  const next = cluster < 0 ? undefined : command.args[cluster + 1];
  if (next !== undefined) texts.push(next);
  if (texts.length > 0) return texts.map(shellText);
  const dashes = command.args.indexOf("--");
  if (dashes >= 0) return [{ kind: "argv", argv: command.args.slice(dashes + 1) }];
  const user = command.args.findIndex((arg) => arg === "-u" || arg === "--user");
  if (command.name === "runuser" && user >= 0) {
    return [{ kind: "argv", argv: command.args.slice(user + 2) }];
  }
  if (command.name === "sg" && command.args[1] !== undefined) {
    return [shellText(command.args.slice(1).join(" "))];
  }
  return shellInput(command);
}

/** Programs that run others as another user. */
export const USERS: readonly Family[] = [
  {
    names: ["sudo"],
    wrappers: [{
      short: "ugpCTRDhrtUac",
      long:
        "user group prompt chdir chroot host role type other-user command-timeout close-from login-class",
      assigns: true,
    }],
    ownEnvironment: always,
    opensShell: asksForShell,
  },
  {
    names: ["doas"],
    wrappers: [{ short: "uCa", assigns: true }],
    ownEnvironment: always,
    opensShell: asksForShell,
  },
  {
    names: ["sudo-rs"],
    wrappers: [{ short: "u", long: "user", assigns: true }],
    ownEnvironment: always,
    opensShell: asksForShell,
  },
  {
    names: ["pkexec"],
    wrappers: [{ short: "u", long: "user", assigns: true }],
    opensShell: always,
  },
  {
    names: ["run0"],
    wrappers: [{ short: "ugD", long: "user group nice chdir setenv", assigns: true }],
    opensShell: always,
  },
  { names: ["su", "runuser"], unwrap: unwrapSu, ownEnvironment: always },
  { names: ["sg"], unwrap: unwrapSu },
  { names: ["newgrp"], opensShell: always },
  { names: ["gosu", "s6-setuidgid", "setuidgid", "su-exec"], wrappers: [{ skip: 1 }] },
  { names: ["chpst"], wrappers: [{ short: "uUebmdopfclrt/" }] },
  {
    names: ["setpriv"],
    wrappers: [{
      long:
        "reuid regid ruid euid rgid egid groups securebits inh-caps ambient-caps bounding-set pdeathsig ptracer selinux-label apparmor-profile landlock-access landlock-rule seccomp-filter",
    }],
  },
];
