import type { SimpleCommand } from "../../model.ts";
import { hasFlag } from "../arguments.ts";
import type { Family } from "../family.ts";

const asksForShell = (command: SimpleCommand): boolean => hasFlag(command, "is", "login", "shell");

/** Programs that run others as another user, or with another view of the system. */
export const USERS: readonly Family[] = [
  {
    names: ["sudo"],
    wrappers: [{
      short: "ugpCTRDhrtUac",
      long:
        "user group prompt chdir chroot host role type other-user command-timeout close-from login-class",
      assigns: true,
    }],
    ownEnvironment: true,
    opensShell: asksForShell,
  },
  {
    names: ["doas"],
    wrappers: [{ short: "uCa", assigns: true }],
    ownEnvironment: true,
    opensShell: asksForShell,
  },
  {
    names: ["sudo-rs"],
    wrappers: [{ short: "u", long: "user", assigns: true }],
    ownEnvironment: true,
    opensShell: asksForShell,
  },
  {
    names: ["pkexec"],
    wrappers: [{ short: "u", long: "user", assigns: true }],
    opensShell: () => true,
  },
  {
    names: ["run0"],
    wrappers: [{ short: "ugD", long: "user group nice chdir setenv", assigns: true }],
    opensShell: () => true,
  },
  { names: ["su", "runuser"], ownEnvironment: true },
  {
    names: [
      "chroot",
      "fakechroot",
      "fakeroot",
      "linux32",
      "linux64",
      "lxc-attach",
      "newgrp",
      "nsenter",
      "proot",
      "schroot",
      "setarch",
      "unshare",
    ],
    opensShell: () => true,
  },
];
