import { factsOf } from "./families.ts";
import type { FileNoter } from "./family.ts";
import { type Flow, known, type Redirection, type SimpleCommand } from "../model.ts";
import { type Scope, writeFile } from "../interpreter/scope.ts";

/** Without arguments these list variables. */
const LISTERS = new Set(["set", "export", "declare"]);

const SILENT = new Set([
  "cd",
  "pushd",
  "popd",
  "true",
  "false",
  ":",
  "set",
  "export",
  "unset",
  "local",
  "declare",
  "readonly",
  "typeset",
  "test",
  "[",
  "mkdir",
  "touch",
  "chmod",
  "chown",
  "sleep",
  "wait",
  "shift",
  "return",
  "exit",
  "trap",
  "read",
  "alias",
  "umask",
  "rm",
  "cp",
  "mv",
]);

/** Programs whose output is meant to be evaluated, such as `eval "$(ssh-agent -s)"`. */
const ENVIRONMENT_PRINTERS = new Set([
  "ssh-agent",
  "brew",
  "direnv",
  "rbenv",
  "pyenv",
  "nodenv",
  "goenv",
  "starship",
  "zoxide",
  "dircolors",
  "lesspipe",
  "conda",
  "mise",
  "fnm",
  "gpg-agent",
  "minikube",
  "opam",
  "keychain",
  "docker-machine",
  "kubectl",
  "helm",
  "gh",
  "rustup",
  "pip",
  "npm",
  "register-python-argcomplete",
  "thefuck",
  "atuin",
  "asdf",
  "luarocks",
  "perl",
  "resize",
  "tset",
  "envsubst",
]);

/** An empty output for programs whose output need not be followed; null where it has to be computed. */
export function quietOutput(command: SimpleCommand): Flow | null {
  if (
    SILENT.has(command.name) &&
    (command.args.length > 0 || !LISTERS.has(command.name))
  ) return known("");
  if (
    !ENVIRONMENT_PRINTERS.has(command.name) ||
    !command.args.some((arg) => ENVIRONMENT_WORDS.has(arg))
  ) return null;
  return known("");
}

const ENVIRONMENT_WORDS = new Set([
  "-s",
  "-c",
  "-k",
  "shellenv",
  "hook",
  "init",
  "-",
  "env",
  "docker-env",
  "completion",
  "activate",
  "--eval",
  "completions",
  "shell.bash",
  "hook.bash",
  "-b",
]);

/** Notes the files that redirections write. */
export function noteRedirections(
  redirections: readonly Redirection[],
  output: Flow,
  scope: Scope,
): void {
  for (const { operator, target, fd } of redirections) {
    if (!operator.includes(">") || operator === ">&" || fd === 2 || target === "/dev/null") {
      continue;
    }
    writeFile(scope, target, output, operator.includes(">>"));
  }
}

const FILE_NOTERS = factsOf("noteFiles");

/** How the files that a program writes are noted; null for programs that write none. */
export function fileNoterOf(name: string): FileNoter | null {
  return FILE_NOTERS.get(name) ?? null;
}

const WRITES = factsOf("writes");

/** Programs that write to files which they name. */
export const WRITERS: readonly string[] = [...WRITES.keys()];

/** The files that a program writes by its own arguments. */
export function writtenPaths(command: SimpleCommand): readonly string[] {
  return WRITES.get(command.name)?.(command) ?? [];
}
