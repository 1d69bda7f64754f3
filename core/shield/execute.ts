import { hasFlag, optionValues } from "./arguments.ts";
import { evaluate } from "./brackets.ts";
import { BudgetSpent, spend } from "./budget.ts";
import { assignmentsOf, EVALUATORS, updateScope } from "./builtins.ts";
import { scanCode } from "./code.ts";
import {
  type Flow,
  FROM_DECODER,
  FROM_NETWORK,
  known,
  newCommand,
  NOTHING,
  type Redirection,
  type SimpleCommand,
  type Span,
  UNKNOWN,
} from "./command.ts";
import { computeOutput, readsSecret } from "./output.ts";
import { argumentsOf } from "./parameter.ts";
import type { Rule } from "./rule.ts";
import {
  matchShelf,
  RULE_NAMES,
  RULES_FOR_ALL,
  RULES_FOR_ASSIGNED,
  RULES_FOR_CODE,
  RULES_FOR_REDIRECTED,
} from "./rules.ts";
import {
  DECODED_CODE,
  DOWNLOADED_CODE,
  FORK_BOMB,
  HIDDEN_PROGRAM,
  UNSEEN_CODE,
} from "./rules/structure.ts";
import { MAX_DEPTH } from "./limits.ts";
import { hasGlob } from "./paths.ts";
import { programOf } from "./programs.ts";
import { matchesGlob } from "./glob.ts";
import { noteRedirections, quietOutput } from "./effects.ts";
import { folderOf, fork, readFile, readInputs, report, type Scope, within } from "./scope.ts";
import { type Inner, isDownloaded } from "./inner.ts";
import { STDIN_PATHS } from "./unwrap_code.ts";
import { runText } from "./variables.ts";
import { callFunction, walkText } from "./walk.ts";

/** What stands around a command's words. */
export interface Call {
  readonly assignments: ReadonlyMap<string, string>;
  readonly redirections: readonly Redirection[];
  readonly stdin: Flow | null;
  readonly span: Span;
}

/**
 * Judges one command and all that it runs, and answers what it writes. What it sets holds in its `home`,
 * where the variables in front of it do not. @throws {BudgetSpent}
 */
export function execute(argv: readonly string[], call: Call, scope: Scope, home = scope): Flow {
  spend(scope.inspection.budget, call.stdin?.text?.length ?? 0);
  if (scope.wrappers.length > MAX_DEPTH) throw new BudgetSpent();
  const program = argv[0];
  if (program === undefined) return known("");
  const args = argv.slice(1);
  if (program === "") return args.length === 0 ? known("") : NOTHING;
  const defined = scope.functions.get(program);
  if (defined !== undefined && scope.active.has(defined)) {
    if (scope.concurrent) report(scope, FORK_BOMB, call.span);
    return NOTHING;
  }
  if (defined !== undefined) return callFunction(defined, args, scope, call.span, call.stdin);
  const kind = programOf(program);
  const command = newCommand({
    name: kind.name,
    program,
    kind,
    args,
    redirections: call.redirections,
    assignments: call.assignments,
    cwd: folderOf(scope),
    stdin: call.stdin,
    inputs: readInputs(scope, args),
    wrappers: scope.wrappers,
    span: call.span,
  });
  judge(command, scope, kind.isPlain ? NONE : hiddenNames(command, scope));
  if (call.assignments.size > 0 || kind.isBuiltin) {
    runVariables(assignmentsOf(command), call.span, scope);
  }
  if (kind.isBuiltin) {
    walkSubscripts(command, scope);
    updateScope(command, home);
  }
  const inner = kind.runsNothing && !kind.hasFolder ? null : runInners(command, scope);
  return noteOutput(command, inner, scope);
}

/** Notes the files that a command writes, and answers what it writes to its output, where that is read. */
function noteOutput(command: SimpleCommand, inner: Flow | null, scope: Scope): Flow {
  const { redirections, kind } = command;
  if (scope.unread && redirections.length === 0 && kind.noteFiles === null) return NOTHING;
  let written = inner;
  const output = () =>
    written ??= quietOutput(command) ?? computeOutput(command, (path) => readFile(scope, path));
  if (redirections.length > 0) noteRedirections(redirections, output(), scope);
  kind.noteFiles?.(command, output, scope);
  if (scope.unread) return NOTHING;
  const flow = output();
  spend(scope.inspection.budget, flow.text?.length ?? 0);
  return flow;
}

/** Runs what a command runs, and answers what the last of it writes; null for a command that runs nothing. */
function runInners(command: SimpleCommand, scope: Scope): Flow | null {
  let written: Flow | null = null;
  for (const inner of innersOf(command, scope)) written = runInner(inner, command, scope);
  // What `tar -I zstd` writes is the compressor's, and still holds what tar has read.
  return written !== null && readsSecret(command) ? { ...written, secret: true } : written;
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

/** Judges redirections that stand outside of a simple command. */
export function judgeRedirections(
  redirections: readonly Redirection[],
  span: Span,
  scope: Scope,
  assignments: ReadonlyMap<string, string> = new Map(),
): void {
  if (redirections.length === 0 && assignments.size === 0) return;
  const command = newCommand({
    name: "",
    program: "",
    kind: programOf(""),
    args: [],
    redirections,
    assignments,
    cwd: folderOf(scope),
    stdin: null,
    inputs: null,
    wrappers: scope.wrappers,
    span,
  });
  judge(command, scope);
}

/** Holds a command against the rules of its name, or of other names that it may have, and those of all. */
function judge(
  command: SimpleCommand,
  scope: Scope,
  others: readonly string[] = NONE,
): void {
  const matched = matchShelf(command.kind.shelf, command);
  for (const name of others) {
    const other = newCommand({ ...command, name, kind: programOf(name) });
    matched.push(...matchShelf(other.kind.shelf, other));
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
  if (program.includes(FROM_NETWORK)) report(scope, DOWNLOADED_CODE, span);
  else if (program.includes(FROM_DECODER)) report(scope, DECODED_CODE, span);
  else if (name.includes(UNKNOWN) && !scope.defining) report(scope, HIDDEN_PROGRAM, span);
  if (name.length < 2 || !hasGlob(name)) return [];
  report(scope, HIDDEN_PROGRAM, span);
  return RULE_NAMES.filter((candidate) => matchesGlob(name, candidate, scope.inspection.budget));
}

const NONE: readonly string[] = [];

function innersOf(command: SimpleCommand, scope: Scope): readonly Inner[] {
  const read = (path: string) => readFile(scope, path);
  if (command.name === "." || command.name === "source") {
    const flow = read(command.args[0] ?? "") ??
      (STDIN_PATHS.has(command.args[0] ?? "") ? command.stdin : null);
    return flow === null ? [] : [{ kind: "shell", flow }];
  }
  const written = command.kind.hasFolder ? read(command.program) : null;
  if (written !== null) return [{ kind: "shell", flow: written, positional: command.args }];
  return command.kind.unwrap(command, read);
}

/** `command export x=1` sets its variable for all that comes behind. */
const IN_PLACE = new Set(["command", "builtin"]);

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
      return execute(
        inner.argv,
        {
          assignments,
          redirections: [],
          stdin,
          span: command.span,
        },
        wrapped,
        IN_PLACE.has(command.name) ? scope : wrapped,
      );
    }
    case "shell": {
      if (isRunnable(inner.flow, command.span, wrapped)) {
        // `eval` and `source` change the shell that they run in.
        const here = command.name === "eval" || command.name === "." || command.name === "source";
        const place = here
          ? within(wrapped, { values: scope.values, functions: scope.functions })
          : wrapped;
        if (inner.zero !== undefined) place.values.set("0", inner.zero);
        const positional = inner.positional === undefined && here
          ? scope.positional
          : argumentsOf(inner.positional ?? []);
        return walkText(
          inner.flow.text ?? "",
          within(place, { positional }),
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
  for (const text of scan.shellTexts) {
    walkText(text, fork(scope, { positional: argumentsOf([]) }), null);
  }
}

/** Builtins compute the subscripts in their arguments, and so run the code in them: `let 'a[$(…)]=1'`. */
function walkSubscripts(command: SimpleCommand, scope: Scope): void {
  const { name, args, span } = command;
  if (!EVALUATORS.has(name)) return;
  const isNumber = name === "let" || hasFlag(command, "i");
  // What printf prints is no name.
  for (const arg of name === "printf" ? optionValues(command, "-v") : args) {
    const at = arg.indexOf("[");
    if (at >= 0) evaluate(arg.slice(at), scope, span);
    else if (isNumber) evaluate(arg, scope, span);
  }
}
