import { operands, optionValues } from "./arguments.ts";
import { RecentMap } from "../../kv/recent.ts";
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
  UNKNOWN,
} from "./command.ts";
import { computeOutput, readsSecret } from "./output.ts";
import type { Rule } from "./rule.ts";
import {
  RULE_NAMES,
  RULES_FOR_ALL,
  RULES_FOR_ASSIGNED,
  RULES_FOR_CODE,
  RULES_FOR_REDIRECTED,
  rulesFor,
} from "./rules.ts";
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
import { noteFiles, quietOutput } from "./effects.ts";
import { assign, folderOf, fork, readFile, readInputs, report, type Scope } from "./scope.ts";
import { type Inner, isDownloaded } from "./inner.ts";
import { unwrap } from "./unwrap.ts";
import { runText } from "./variables.ts";
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
  if (scope.active.size > 0 && scope.active.has(program)) {
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
    inputs: readInputs(scope, args),
    wrappers: scope.wrappers,
    memo: {},
  };
  judge(command, scope, hiddenNames(command, scope));
  if (call.assignments.size > 0 || EXPORTERS.has(command.name)) {
    runVariables(assignmentsOf(command), call.span, scope);
  }
  if (EVALUATORS.has(command.name)) walkSubscripts(command, scope);
  updateScope(command, scope);
  const outputs = innersOf(command, scope).map((inner) => runInner(inner, command, scope));
  let written = outputs.at(-1);
  // What `tar -I zstd` writes is the compressor's, and still holds what tar has read.
  if (written !== undefined && readsSecret(command)) written = { ...written, secret: true };
  const output = () =>
    written ??= quietOutput(command) ?? computeOutput(command, (path) => readFile(scope, path));
  noteFiles(command, output, scope);
  return scope.unread ? NOTHING : output();
}

/** `2>&1` and `> /dev/null` stand behind every second command and say nothing. */
function isTelling({ target }: Redirection): boolean {
  return target !== "/dev/null" && target !== "1" && target !== "2";
}

function matchMore(rules: readonly Rule[], command: SimpleCommand, matched: Rule[]): void {
  for (const rule of rules) {
    if (!matched.includes(rule) && rule.match(command)) matched.push(rule);
  }
}

/** Walks the values that other programs take as command lines: `GIT_PAGER="…" git log`. */
export function runVariables(
  assignments: Iterable<readonly [string, string]>,
  span: Span,
  scope: Scope,
): void {
  for (const [name, value] of assignments) {
    const text = runText(name, value);
    if (text === null) continue;
    walkText(text, fork(scope, { wrappers: [...scope.wrappers, name], span }), null);
  }
}

/** The variables that a command sets for itself, or for the commands after it. */
function assignmentsOf(command: SimpleCommand): Iterable<readonly [string, string]> {
  if (!EXPORTERS.has(command.name)) return command.assignments;
  return command.args.filter((arg) => arg.includes("=")).map((arg) => {
    const at = arg.indexOf("=");
    return [arg.slice(0, at), arg.slice(at + 1)] as const;
  });
}

const EXPORTERS = new Set(["export", "declare", "typeset", "local", "readonly"]);

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
    inputs: null,
    wrappers: scope.wrappers,
    span,
    memo: {},
  };
  judge(command, scope);
}

/** `/usr/bin/RM.exe` is `rm`: folders do not matter, and some disks ignore case. */
export function nameOf(program: string): string {
  const known = names.get(program);
  if (known !== undefined) return known;
  const name = readName(program);
  if (program.length <= NAME_CHARS_MAX) names.set(program, name);
  return name;
}

/** Programs are few, and named again and again. */
const NAME_CHARS_MAX = 32;
const names = new RecentMap<string>(2_048);

function readName(program: string): string {
  const slash = Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\"));
  const lower = program.slice(slash + 1).toLowerCase();
  const name = lower.endsWith(".exe") ? lower.slice(0, -4) : lower;
  // A property's name is kept once in memory: comparing it with the names in the tables costs nothing.
  return Object.keys({ [name]: null })[0]!;
}

/** Holds a command against the rules of its name, or of other names that it may have, and those of all. */
function judge(
  command: SimpleCommand,
  scope: Scope,
  others: readonly string[] = NONE,
): void {
  const matched: Rule[] = [];
  for (const rule of rulesFor(command.name)) if (rule.match(command)) matched.push(rule);
  for (const name of others) {
    const named = { ...command, name, memo: {} };
    for (const rule of rulesFor(name)) if (rule.match(named)) matched.push(rule);
  }
  for (const rule of RULES_FOR_ALL) if (rule.match(command)) matched.push(rule);
  if (command.redirections.some(isTelling)) matchMore(RULES_FOR_REDIRECTED, command, matched);
  if (command.assignments.size > 0) matchMore(RULES_FOR_ASSIGNED, command, matched);
  for (const rule of matched) report(scope, rule, command.span);
  // A variable that is set by itself runs nothing.
  if (command.name !== "" || command.redirections.length > 0) {
    scope.inspection.commands.push({ command, rules: matched });
  }
}

/** A program whose name is computed: `$X -rf /`, `/bin/r? -rf /`; answers the names that it may have. */
function hiddenNames(command: SimpleCommand, scope: Scope): readonly string[] {
  const { name, program, span } = command;
  if (isPlain(program)) return NONE;
  if (program.includes(FROM_NETWORK)) report(scope, DOWNLOADED_CODE, span);
  else if (program.includes(FROM_DECODER)) report(scope, DECODED_CODE, span);
  else if (name.includes(UNKNOWN) && !scope.defining) report(scope, HIDDEN_PROGRAM, span);
  if (name.length < 2 || !hasGlob(name)) return [];
  report(scope, HIDDEN_PROGRAM, span);
  return RULE_NAMES.filter((candidate) => matchesGlob(name, candidate, scope.inspection.budget));
}

const NONE: readonly string[] = [];

/** Whether a program's name is letters, digits and the like: nothing unknown, no wildcard. */
function isPlain(program: string): boolean {
  for (let i = 0; i < program.length; i++) {
    const c = program.charCodeAt(i);
    if (c < 0x20 || c === 0x2a || c === 0x3f || c === 0x5b) return false;
  }
  return true;
}

function innersOf(command: SimpleCommand, scope: Scope): readonly Inner[] {
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
    unread: scope.unread && command.redirections.length === 0,
  });
  switch (inner.kind) {
    case "argv": {
      const assignments = new Map(inner.assignments);
      for (const [name, value] of assignments) wrapped.values.set(name, value);
      const stdin = command.name === "xargs" ? null : command.stdin;
      return execute(inner.argv, {
        assignments,
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
        if (inner.zero !== undefined) place.values.set("0", inner.zero);
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

/** Builtins that compute the subscripts in their arguments, and so run the code in them: `let 'a[$(…)]=1'`. */
const EVALUATORS = new Set(
  "[ declare export let local mapfile printf read readarray readonly test typeset unset wait".split(
    " ",
  ),
);

function walkSubscripts(command: SimpleCommand, scope: Scope): void {
  const { name, args, span } = command;
  // What printf prints is no name.
  for (const arg of name === "printf" ? optionValues(command, "-v") : args) {
    const at = arg.indexOf("[");
    if (at < 0 || !(arg.includes("$(", at) || arg.includes("`", at))) continue;
    const place = fork(scope, { wrappers: [...scope.wrappers, "[]"], span });
    walkText(`: "${arg.slice(at).replaceAll('"', "")}"`, place, null);
  }
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

const READ_VALUED = new Set(["-p", "-d", "-n", "-N", "-t", "-u", "-i", "-a"]);
