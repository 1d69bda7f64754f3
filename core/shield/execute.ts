import { hasFlag, operands, optionValues } from "./arguments.ts";
import { BudgetSpent, spend } from "./budget.ts";
import { scanCode } from "./code.ts";
import {
  type Flow,
  FROM_DECODER,
  FROM_NETWORK,
  known,
  NOTHING,
  type Redirection,
  type SimpleCommand,
  type Span,
  textFlow,
  UNKNOWN,
} from "./command.ts";
import { computeOutput } from "./output.ts";
import { RULE_NAMES, RULES_FOR_ALL, RULES_FOR_CODE, rulesFor } from "./rules.ts";
import {
  DECODED_CODE,
  DOWNLOADED_CODE,
  FORK_BOMB,
  HIDDEN_PROGRAM,
  UNSEEN_CODE,
} from "./rules/structure.ts";
import { MAX_DEPTH } from "./limits.ts";
import { hasGlob, locate } from "./paths.ts";
import { matchesGlob } from "./glob.ts";
import { assign, fork, readFile, report, type Scope, writeFile } from "./scope.ts";
import { type Inner, isDownloaded } from "./inner.ts";
import { unwrap } from "./unwrap.ts";
import { callFunction, walkText } from "./walk.ts";

/** What stands around a command's words. */
export interface Call {
  readonly assignments: ReadonlyMap<string, string>;
  readonly redirections: readonly Redirection[];
  readonly stdin: Flow | null;
  readonly span: Span;
}

/** Judges one command and all that it runs, and answers what it writes. @throws {BudgetSpent} */
export function execute(argv: readonly string[], call: Call, scope: Scope): Flow {
  spend(scope.inspection.budget, 0);
  if (scope.wrappers.length > MAX_DEPTH) throw new BudgetSpent();
  const [program, ...args] = argv;
  if (program === undefined) return known("");
  if (program === "") return args.length === 0 ? known("") : NOTHING;
  const defined = scope.functions.get(program);
  if (scope.active.has(program)) {
    if (scope.concurrent) report(scope, FORK_BOMB, call.span);
    return NOTHING;
  }
  if (defined !== undefined) return callFunction(defined, args, scope, call.span, call.stdin);
  const command: SimpleCommand = {
    ...call,
    name: nameOf(program),
    program,
    args,
    cwd: folderOf(scope),
    wrappers: scope.wrappers,
  };
  judgeProgram(command, scope);
  judge(command, scope);
  updateScope(command, scope);
  const outputs = innersOf(command, scope).map((inner) => runInner(inner, command, scope));
  const output = outputs.at(-1) ?? quietOutput(command) ??
    computeOutput(command, (path) => readFile(scope, path));
  noteFiles(command, output, scope);
  return output;
}

/** Judges redirections that stand outside of a simple command. */
export function judgeRedirections(
  redirections: readonly Redirection[],
  span: Span,
  scope: Scope,
  assignments: ReadonlyMap<string, string> = new Map(),
): void {
  if (redirections.length === 0 && assignments.size === 0) return;
  const command: SimpleCommand = {
    name: "",
    program: "",
    args: [],
    redirections,
    assignments,
    cwd: folderOf(scope),
    stdin: null,
    wrappers: scope.wrappers,
    span,
  };
  for (const rule of RULES_FOR_ALL) if (rule.match(command)) report(scope, rule, span);
}

/** `/usr/bin/RM.exe` is `rm`: folders do not matter, and some disks ignore case. */
export function nameOf(program: string): string {
  const slash = Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\"));
  const name = program.slice(slash + 1).toLowerCase();
  return name.endsWith(".exe") ? name.slice(0, -4) : name;
}

function judge(command: SimpleCommand, scope: Scope): void {
  for (const rule of rulesFor(command.name)) {
    if (rule.match(command)) report(scope, rule, command.span);
  }
  for (const rule of RULES_FOR_ALL) if (rule.match(command)) report(scope, rule, command.span);
}

/** A program whose name is computed: `$X -rf /`, `/bin/r? -rf /`. */
function judgeProgram(command: SimpleCommand, scope: Scope): void {
  const { name, program, span } = command;
  if (program.includes(FROM_NETWORK)) report(scope, DOWNLOADED_CODE, span);
  else if (program.includes(FROM_DECODER)) report(scope, DECODED_CODE, span);
  else if (name.includes(UNKNOWN) && !scope.defining) report(scope, HIDDEN_PROGRAM, span);
  if (name.length < 2 || !hasGlob(name)) return;
  report(scope, HIDDEN_PROGRAM, span);
  for (const candidate of RULE_NAMES) {
    if (matchesGlob(name, candidate)) judge({ ...command, name: candidate }, scope);
  }
}

function innersOf(command: SimpleCommand, scope: Scope): Inner[] {
  const read = (path: string) => readFile(scope, path);
  if (command.name === "." || command.name === "source") {
    const flow = read(command.args[0] ?? "") ??
      (STDIN.has(command.args[0] ?? "") ? command.stdin : null);
    return flow === null ? [] : [{ kind: "shell", flow }];
  }
  const written = command.program.includes("/") ? read(command.program) : null;
  if (written !== null) return [{ kind: "shell", flow: written, positional: command.args }];
  return unwrap(command, read);
}

const STDIN = new Set(["/dev/stdin", "/dev/fd/0", "-"]);

function runInner(inner: Inner, command: SimpleCommand, scope: Scope): Flow {
  const wrapped = fork(scope, {
    wrappers: [...scope.wrappers, command.name],
    span: command.span,
    defining: false,
  });
  switch (inner.kind) {
    case "argv": {
      for (const [name, value] of inner.assignments ?? []) wrapped.values.set(name, value);
      const stdin = command.name === "xargs" ? null : command.stdin;
      return execute(inner.argv, {
        assignments: new Map(),
        redirections: [],
        stdin,
        span: command.span,
      }, wrapped);
    }
    case "shell": {
      if (isRunnable(inner.flow, command.span, wrapped)) {
        // `eval` and `source` change the shell that they run in.
        const here = command.name === "eval" || command.name === "." || command.name === "source";
        const place = here
          ? { ...wrapped, values: scope.values, functions: scope.functions }
          : wrapped;
        const positional = inner.positional ?? (here ? scope.positional : []);
        return walkText(
          inner.flow.text ?? "",
          { ...place, positional },
          inner.flow === command.stdin ? null : command.stdin,
        );
      }
      return { ...inner.flow, text: null };
    }
    case "code":
      runCode(inner.flow, inner.language, command, wrapped);
      return { ...NOTHING, network: inner.flow.network, secret: inner.flow.secret };
  }
}

/** Code that cannot be read is judged by where it comes from. */
function isRunnable(flow: Flow, span: Span, scope: Scope): boolean {
  const text = flow.text?.trim() ?? "";
  if (flow.text === null || text === FROM_NETWORK || text === FROM_DECODER) {
    if (isDownloaded(flow)) report(scope, DOWNLOADED_CODE, span);
    else if (flow.decoded) report(scope, DECODED_CODE, span);
    else if (!scope.defining) report(scope, UNSEEN_CODE, span);
    return false;
  }
  return true;
}

function runCode(flow: Flow, language: string, command: SimpleCommand, scope: Scope): void {
  if (isDownloaded(flow)) return report(scope, DOWNLOADED_CODE, command.span);
  if (!isRunnable(flow, command.span, scope)) return;
  const scan = scanCode(flow.text ?? "", language, scope.inspection.budget);
  for (const rule of RULES_FOR_CODE) {
    if (rule.matchCode(scan)) report(scope, rule, command.span);
  }
  for (const text of scan.shellTexts) walkText(text, fork(scope, { positional: [] }), null);
}

/** Builtins that change what later words expand to. */
function updateScope(command: SimpleCommand, scope: Scope): void {
  switch (command.name) {
    case "read": {
      const line = command.stdin?.text ?? command.stdin ?? null;
      const value = typeof line === "string" ? line.trim() : line?.network ? FROM_NETWORK : UNKNOWN;
      for (const name of operands(command, READ_VALUED)) assign(scope, name, value);
      return;
    }
    case "unset":
      for (const name of operands(command)) assign(scope, name, "");
      return;
    case "printf":
      for (const name of optionValues(command, "-v")) {
        assign(scope, name, computeOutput(command, () => null).text ?? UNKNOWN);
      }
      return;
    case "export":
    case "declare":
    case "local":
    case "typeset":
    case "readonly":
      return;
    case "cd":
    case "pushd":
      scope.values.set("PWD", locate(folderOf(scope), operands(command)[0] ?? "~"));
  }
}

function folderOf(scope: Scope): string {
  return scope.values.get("PWD") ?? ".";
}

const READ_VALUED = new Set(["-p", "-d", "-n", "-N", "-t", "-u", "-i", "-a"]);

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

function quietOutput(command: SimpleCommand): Flow | null {
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
function noteFiles(command: SimpleCommand, output: Flow, scope: Scope): void {
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
