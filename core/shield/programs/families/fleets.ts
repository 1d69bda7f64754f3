import { type Inner, shellText } from "../../interpreter/inner.ts";
import type { SimpleCommand } from "../../model.ts";
import { hasOption, optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";

/** Options of `nomad alloc exec` whose value is the next word. */
const NOMAD_VALUED = new Set([
  "-address",
  "-e",
  "-group",
  "-namespace",
  "-region",
  "-task",
  "-token",
]);

/** `nomad alloc exec -task api 8ba85cef /bin/sh -c text`. */
function inAllocation({ args }: SimpleCommand): Inner[] {
  const verb = args.indexOf("exec");
  if (verb < 0 || verb > 1) return [];
  for (let at = verb + 1; at < args.length; at++) {
    const arg = args[at]!;
    if (NOMAD_VALUED.has(arg)) at++;
    else if (!arg.startsWith("-")) {
      const argv = args.slice(at + 1);
      return argv.length === 0 ? [] : [{ kind: "argv", argv }];
    }
  }
  return [];
}

/** `fab -H web01 -- text`. */
function behindDashes({ args }: SimpleCommand): Inner[] {
  const at = args.indexOf("--");
  return at < 0 ? [] : [shellText(args.slice(at + 1).join(" "))];
}

/** Programs that run a command on many machines. */
export const FLEETS: readonly Family[] = [
  {
    names: ["pdsh", "clush", "pssh", "parallel-ssh", "dsh"],
    wrappers: [{ short: "wgxlftuhHAoeOp", long: "host hosts user", mode: "shell" }],
  },
  {
    names: ["ansible"],
    runs: (command) =>
      hasOption(command, "--check", "-C") ? [] : optionValues(command, "-a", "--args"),
  },
  {
    names: ["salt", "salt-ssh"],
    wrappers: [{
      short: "tbcuap",
      long: "timeout batch batch-size config-dir out output out-file username password auth",
      skip: 2,
      mode: "shell",
    }],
  },
  {
    names: ["knife"],
    wrappers: [{ verbs: "ssh", short: "aCxiGpP", skip: 1, mode: "shell" }],
  },
  { names: ["nomad"], unwrap: inAllocation },
  { names: ["fab"], unwrap: behindDashes },
  { names: ["mussh"], runs: ["-c"] },
  {
    names: ["bolt"],
    runs: ({ args }) => args[0] === "command" && args[1] === "run" ? args.slice(2, 3) : [],
  },
  { names: ["doctl"], runs: ["--ssh-command"] },
];
