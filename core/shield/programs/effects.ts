import { hasFlag, operands, optionValues, wordsOf } from "./arguments.ts";
import {
  type Flow,
  FROM_NETWORK,
  known,
  NOTHING,
  type Redirection,
  type SimpleCommand,
  textFlow,
} from "../model.ts";
import { quoteWord } from "../interpreter/inner.ts";
import { nameProgram, noteLink } from "../interpreter/links.ts";
import { isSecret } from "./secrets.ts";
import { readFile, type Scope, writeFile } from "../interpreter/scope.ts";

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

/** Nothing, for programs that write nothing worth following; null where the output has to be computed. */
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

/** Notes the files that a program writes; `output` is what it writes to its standard output. */
export type FileNoter = (command: SimpleCommand, output: () => Flow, scope: Scope) => void;

const noteTee: FileNoter = (command, _output, scope) => {
  const appends = hasFlag(command, "a", "append");
  for (const path of wordsOf(command)) {
    writeFile(scope, path, command.stdin ?? NOTHING, appends);
  }
};

const noteCurl: FileNoter = (command, _output, scope) => {
  for (const path of optionValues(command, "-o", "--output")) {
    writeFile(scope, path, { ...NOTHING, network: true }, false);
  }
  if (hasFlag(command, "OJ", "remote-name")) noteDownloads(wordsOf(command), scope);
};

const noteDownloader: FileNoter = (command, _output, scope) => {
  const named = optionValues(command, "-O", "--output-document", "-o");
  for (const path of named) writeFile(scope, path, { ...NOTHING, network: true }, false);
  if (named.length === 0) noteDownloads(wordsOf(command), scope);
};

const noteDd: FileNoter = (command, output, scope) => {
  for (const arg of command.args) {
    if (arg.startsWith("of=")) writeFile(scope, arg.slice(3), output(), false);
  }
};

const notePacked: FileNoter = (command, output, scope) => {
  for (const path of packedPaths(command)) writeFile(scope, path, output(), false);
};

/** Remembers what redirections write. */
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

/** `cp a b folder`: a copy holds what its source held, whether the last word is a file or a folder. */
const noteCopies: FileNoter = (command, _output, scope) => {
  const files = [...wordsOf(command)];
  // `ln -s file` links into the folder that the line is in.
  if (command.name === "ln" && files.length === 1) files.push(".");
  const target = files.at(-1);
  if (target === undefined || files.length < 2) return;
  const isFolder = /(^|\/)(\.?\.?|~)$/.test(target);
  for (const source of files.slice(0, -1)) {
    const name = source.slice(source.lastIndexOf("/") + 1);
    const paths = [...isFolder ? [] : [target], `${target}/${name}`];
    if (command.name === "ln") { for (const path of paths) noteLink(scope, path, source); }
    const content = readFile(scope, source) ??
      (isSecret(source) ? { ...NOTHING, secret: true } : copiedProgram(source));
    if (content === null) continue;
    for (const path of paths) writeFile(scope, path, content, false);
  }
};

/** A copy of a program runs what the program runs; `$(which rm)` is known by its name. */
function copiedProgram(source: string): Flow | null {
  const isProgram = /^\/(.*\/)?s?bin\/[^/]+$|^[\w-]+$/.test(source);
  return isProgram ? known(`${quoteWord(source)} "$@"`) : null;
}

const noteAliases: FileNoter = ({ args }, _output, scope) => {
  for (const arg of args) {
    const equals = arg.indexOf("=");
    if (equals > 0) nameProgram(scope, arg.slice(0, equals), `${arg.slice(equals + 1)} "$@"`);
  }
};

/** `hash -p /bin/rm ls`. */
const noteHash: FileNoter = (command, _output, scope) => {
  const [program] = optionValues(command, "-p");
  if (program === undefined) return;
  for (const name of operands(command, HASH_VALUED)) {
    nameProgram(scope, name, `${quoteWord(program)} "$@"`);
  }
};

const HASH_VALUED = new Set(["-p"]);

const SUFFIXES: ReadonlyMap<string, string> = new Map([
  ["gzip", ".gz"],
  ["pigz", ".gz"],
  ["bzip2", ".bz2"],
  ["xz", ".xz"],
  ["zstd", ".zst"],
  ["gpg", ".gpg"],
  ["age", ".age"],
]);

/** The files that archivers and encoders make. */
function packedPaths(command: SimpleCommand): string[] {
  const { name, args } = command;
  switch (name) {
    case "tar":
    case "gtar":
    case "bsdtar": {
      const cluster = args.findIndex((arg, i) =>
        !arg.startsWith("--") &&
        (i === 0 ? arg.includes("f") : arg.startsWith("-") && arg.endsWith("f"))
      );
      const bundled = cluster < 0 ? [] : args.slice(cluster + 1, cluster + 2);
      return [...bundled, ...optionValues(command, "--file")];
    }
    case "zip":
      return operands(command).slice(0, 1);
    case "7z":
    case "rar":
      return operands(command).slice(1, 2);
    case "pg_dump":
      return optionValues(command, "-f", "--file");
    default: {
      const suffix = SUFFIXES.get(name);
      if (suffix === undefined && !PACKERS.has(name)) return [];
      const named = optionValues(command, "-out", "-o", "--output", "--result-file", "--archive");
      if (suffix === undefined) return named;
      return [...named, ...operands(command).map((path) => path + suffix)];
    }
  }
}

/** Other programs that write to the file that an option names. */
const PACKERS = new Set(["openssl", "base64", "pg_dumpall", "mysqldump", "mongodump"]);

function noteDownloads(urls: readonly string[], scope: Scope): void {
  for (const url of urls) {
    const name = url.slice(url.lastIndexOf("/") + 1).split("?", 1)[0] ?? "";
    if (name !== "") writeFile(scope, name, textFlow(FROM_NETWORK), false);
  }
}

/** Who writes which files, besides those of redirections, so that running them later is seen through. */
const FILE_NOTERS: ReadonlyMap<string, FileNoter> = new Map([
  ...["tee", "sponge"].map((name) => [name, noteTee] as const),
  ...["wget", "aria2c", "axel"].map((name) => [name, noteDownloader] as const),
  ...["cp", "mv", "ln", "install"].map((name) => [name, noteCopies] as const),
  ...["tar", "gtar", "bsdtar", "zip", "7z", "rar", "pg_dump", ...SUFFIXES.keys(), ...PACKERS]
    .map((name) => [name, notePacked] as const),
  ["curl", noteCurl],
  ["dd", noteDd],
  ["alias", noteAliases],
  ["hash", noteHash],
]);

/** How the files that a program writes are noted; null for programs that write none. */
export function fileNoterOf(name: string): FileNoter | null {
  return FILE_NOTERS.get(name) ?? null;
}
