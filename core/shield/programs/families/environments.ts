import { type Inner, quoteWord, shellText } from "../../interpreter/inner.ts";
import type { SimpleCommand } from "../../model.ts";
import { optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { printsSettings, printsVariables } from "../flows.ts";
import { afterFirst } from "../texts.ts";
import { innerCommand, wrapperOf } from "../wrapper.ts";

const ENV_OPTIONS = { short: "uCa", long: "unset chdir argv0", assigns: true } as const;
const ENV = wrapperOf(ENV_OPTIONS);

/** `env -vS "program a" b`: the text is split, and what follows it comes behind. */
function unwrapEnv(command: SimpleCommand): Inner[] {
  for (const [i, arg] of command.args.entries()) {
    if (!arg.startsWith("-")) break;
    const long = arg.startsWith("--split-string");
    const at = arg.startsWith("--") ? -1 : arg.indexOf("S");
    if (!long && at < 0) continue;
    const own = long ? afterFirst(arg, "=") : arg.slice(at + 1);
    const rest = command.args.slice(own === "" ? i + 2 : i + 1);
    const text = own === "" ? command.args[i + 1] ?? "" : own;
    return [shellText([text, ...rest.map(quoteWord)].join(" "))];
  }
  const found = innerCommand(ENV, command.args);
  return found === null ? [] : [{ kind: "argv", ...found }];
}

function afterDashes({ args }: SimpleCommand, ...program: string[]): Inner[] {
  const at = args.findIndex((arg) => arg === "--" || arg === "==");
  return at < 0 ? [] : [{ kind: "argv", argv: [...program, ...args.slice(at + 1)] }];
}

function afterOption({ args }: SimpleCommand, ...options: string[]): Inner[] {
  const at = args.findIndex((arg) => options.includes(arg));
  return at < 0 ? [] : [{ kind: "argv", argv: args.slice(at + 1) }];
}

/** How many arguments follow an option of bwrap; the others take none. */
const NEW_ROOT_VALUES: ReadonlyMap<string, number> = new Map([
  ...["bind", "bind-try", "dev-bind", "dev-bind-try", "ro-bind", "ro-bind-try", "symlink", "setenv"]
    .map((name) => [`--${name}`, 2] as const),
  ...[
    "dev",
    "proc",
    "tmpfs",
    "dir",
    "chdir",
    "unsetenv",
    "uid",
    "gid",
    "hostname",
    "mqueue",
    "args",
  ]
    .map((name) => [`--${name}`, 1] as const),
]);

/** `bwrap --ro-bind / / --dev /dev program`. */
function unwrapNewRoot({ args }: SimpleCommand): Inner[] {
  let at = 0;
  while (args[at]?.startsWith("--")) {
    if (args[at] === "--") {
      at++;
      break;
    }
    at += 1 + (NEW_ROOT_VALUES.get(args[at] ?? "") ?? 0);
  }
  const argv = args.slice(at);
  return argv.length === 0 ? [] : [{ kind: "argv", argv }];
}

/** Programs that run others in an environment, a file system or a terminal of their own. */
export const ENVIRONMENTS: readonly Family[] = [
  {
    names: ["env"],
    wrappers: [ENV_OPTIONS],
    unwrap: unwrapEnv,
    ownEnvironment: ({ args }) => args[0]?.startsWith("-") ?? false,
    prints: printsVariables,
  },
  { names: ["genv"], wrappers: [ENV_OPTIONS], unwrap: unwrapEnv },
  { names: ["env-cmd"], wrappers: [{}] },
  { names: ["cross-env"], wrappers: [{ assigns: true }] },
  { names: ["cross-env-shell"], wrappers: [{ assigns: true, mode: "shell" }] },
  { names: ["dotenv"], wrappers: [{ short: "ef" }] },
  { names: ["dotenvx"], wrappers: [{ verbs: "run", short: "f", long: "env-file name cwd" }] },
  { names: ["direnv"], wrappers: [{ verbs: "exec", skip: 1 }], prints: printsSettings },
  {
    names: ["atuin", "envsubst", "register-python-argcomplete", "zoxide"],
    prints: printsSettings,
  },
  { names: ["bwrap"], unwrap: unwrapNewRoot },
  { names: ["capsh"], unwrap: (command) => afterDashes(command, "bash") },
  { names: ["nix"], unwrap: (command) => afterOption(command, "-c", "--command", "--run") },
  {
    names: ["nix-shell"],
    unwrap: (command) => optionValues(command, "--run", "--command").map(shellText),
  },
  { names: ["guix", "gnome-terminal"], unwrap: (command) => afterDashes(command) },
];
