import { hasFlag, operands, optionValues } from "./arguments.ts";
import {
  type Flow,
  FROM_NETWORK,
  known,
  NOTHING,
  type SimpleCommand,
  textFlow,
} from "./command.ts";
import { readFile, type Scope, writeFile } from "./scope.ts";

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

/** Nothing, for programs that write nothing worth following; null where the output has to be computed. */
export function quietOutput(command: SimpleCommand): Flow | null {
  if (
    SILENT.has(command.name) &&
    (command.args.length > 0 || !["set", "export", "declare"].includes(command.name))
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

/** Remembers what the line writes to files, so that running them later is seen through. */
export function noteFiles(command: SimpleCommand, output: Flow, scope: Scope): void {
  for (const { operator, target, fd } of command.redirections) {
    if (!operator.includes(">") || operator === ">&" || fd === 2) continue;
    writeFile(scope, target, output, operator.includes(">>"));
  }
  const files = operands(command);
  switch (command.name) {
    case "tee":
    case "sponge":
      for (const path of files) {
        writeFile(scope, path, command.stdin ?? NOTHING, hasFlag(command, "a", "append"));
      }
      return;
    case "curl":
      for (const path of optionValues(command, "-o", "--output")) {
        writeFile(scope, path, { ...NOTHING, network: true }, false);
      }
      if (hasFlag(command, "OJ", "remote-name")) noteDownloads(files, scope);
      return;
    case "wget":
    case "aria2c":
    case "axel": {
      const named = optionValues(command, "-O", "--output-document", "-o");
      for (const path of named) writeFile(scope, path, { ...NOTHING, network: true }, false);
      if (named.length === 0) noteDownloads(files, scope);
      return;
    }
    case "scp":
    case "sftp":
      return;
    case "dd":
      for (const arg of command.args) {
        if (arg.startsWith("of=")) writeFile(scope, arg.slice(3), output, false);
      }
      return;
    case "cp":
    case "mv":
    case "ln":
    case "install": {
      const source = files.at(-2);
      const target = files.at(-1);
      const content = source === undefined ? null : readFile(scope, source);
      if (content !== null && target !== undefined) writeFile(scope, target, content, false);
    }
  }
}

function noteDownloads(urls: readonly string[], scope: Scope): void {
  for (const url of urls) {
    const name = url.slice(url.lastIndexOf("/") + 1).split("?", 1)[0] ?? "";
    if (name !== "") writeFile(scope, name, textFlow(FROM_NETWORK), false);
  }
}
