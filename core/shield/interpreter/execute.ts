import type { Function as FunctionNode } from "unbash";
import { hasFlag, optionValues } from "../programs/arguments.ts";
import { evaluate } from "./evaluate.ts";
import { BudgetSpent, spend } from "./budget.ts";
import { assignmentsOf, EVALUATORS, updateScope } from "./builtins.ts";
import { scanCode } from "../code/code.ts";
import {
  type Flow,
  FROM_DECODER,
  FROM_NETWORK,
  known,
  newCommand,
  NOTHING,
  type Redirection,
  type Rule,
  type SimpleCommand,
  type Span,
  UNKNOWN,
} from "../model.ts";
import { computeOutput, readsSecret } from "../programs/output.ts";
import { argumentsOf } from "./parameter.ts";
import {
  matchRules,
  RULE_NAMES,
  RULES_FOR_ALL,
  RULES_FOR_ASSIGNED,
  RULES_FOR_CODE,
  RULES_FOR_REDIRECTED,
} from "../packs/packs.ts";
import {
  DECODED_CODE,
  DOWNLOADED_CODE,
  FORK_BOMB,
  HIDDEN_PROGRAM,
  UNSEEN_CODE,
} from "../packs/structure.ts";
import { MAX_DEPTH } from "./limits.ts";
import { hasGlob } from "../programs/paths.ts";
import { factsOf } from "../programs/families.ts";
import { type Program, programOf } from "../programs/programs.ts";
import { matchesGlob } from "./glob.ts";
import { noteRedirections, quietOutput } from "../programs/effects.ts";
import { folderOf, fork, give, readFile, readInputs, report, type Scope, within } from "./scope.ts";
import { callEither, callFunction } from "./functions.ts";
import { type Inner, isDownloaded, type ReadFile, STDIN_PATHS, withoutDashes } from "./inner.ts";
import { aliasKey, followAll, writtenPrograms } from "./links.ts";
import { SHELLS } from "../programs/families/shells.ts";
import { runText } from "./variables.ts";
import { SEPARATORS } from "../code/powershell.ts";
import { walkForeign, walkText } from "./text.ts";

/** The context of a command's words. */
export interface Call {
  readonly assignments: ReadonlyMap<string, string>;
  readonly redirections: readonly Redirection[];
  readonly stdin: Flow | null;
  readonly span: Span;
  /** Set when the command is judged a second time, with its links followed. */
  readonly isFollowed?: boolean;
}

/**
 * Judges one command and all that it runs, and answers its output. Its assignments take effect in `home`; the
 * variables in front of it do not. @throws {BudgetSpent}
 */
export function execute(argv: readonly string[], call: Call, scope: Scope, home = scope): Flow {
  spend(scope.inspection.budget, call.stdin?.text?.length ?? 0);
  if (scope.wrappers.length > MAX_DEPTH) throw new BudgetSpent();
  const program = argv[0];
  if (program === undefined) return known("");
  const args = argv.slice(1);
  if (program === "") return args.length === 0 ? known("") : NOTHING;
  if (scope.values.isCertain && program.includes(UNKNOWN)) {
    // An unset variable expands to nothing: `$run rm` is `rm`.
    const name = program.replaceAll(UNKNOWN, "");
    return execute(name === "" ? args : [name, ...args], call, scope, home);
  }
  const defined = scope.functions.get(program);
  if (defined !== undefined) {
    const isActive = scope.active.has(defined);
    if (!scope.functions.isDoubtful(program)) {
      if (!isActive) return callRedirected(defined, args, call, scope);
      if (scope.concurrent) report(scope, FORK_BOMB, call.span);
      return NOTHING;
    }
    callEither(program, defined, args, scope, call.span, call.stdin);
  }
  const kind = programOf(program);
  const command = newCommand({
    name: kind.name,
    program,
    args,
    redirections: call.redirections,
    assignments: call.assignments,
    cwd: folderOf(scope),
    stdin: call.stdin,
    inputs: readInputs(scope, args),
    wrappers: scope.wrappers,
    span: call.span,
  });
  judge(command, kind, scope, kind.isPlain ? NONE : hiddenNames(command, scope));
  if (call.assignments.size > 0 || kind.isBuiltin) {
    runVariables(assignmentsOf(command), call.span, scope);
  }
  if (kind.isBuiltin) {
    walkSubscripts(command, scope);
    updateScope(command, home);
  }
  const files = writtenPrograms(program, kind.hasFolder, scope);
  const runs = !kind.runsNothing || files.length > 0;
  const inner = runs ? runInners(command, kind, files, scope, home) : null;
  const followed = call.isFollowed ? null : followAll(kind.name, args, call.redirections, scope);
  if (followed !== null) {
    const { args, redirections } = followed;
    execute([program, ...args], { ...call, redirections, isFollowed: true }, fork(scope));
  }
  return noteOutput(command, kind, inner, scope);
}

/** Calls a function; the call's redirections hold for all that it runs. */
function callRedirected(
  defined: FunctionNode,
  args: readonly string[],
  { redirections, span, stdin }: Call,
  scope: Scope,
): Flow {
  if (redirections.length === 0) return callFunction(defined, args, scope, span, stdin);
  judgeRedirections(redirections, span, scope);
  const written = callFunction(defined, args, within(scope, { unread: false }), span, stdin);
  noteRedirections(redirections, written, scope);
  return written;
}

/** Notes the files that a command writes, and answers what it writes to its output, where that is read. */
function noteOutput(
  command: SimpleCommand,
  kind: Program,
  inner: Flow | null,
  scope: Scope,
): Flow {
  const { redirections } = command;
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
function runInners(
  command: SimpleCommand,
  kind: Program,
  files: readonly Flow[],
  scope: Scope,
  home: Scope,
): Flow | null {
  let written: Flow | null = null;
  const place = files.length === 0
    ? scope
    : within(scope, { active: new Set([...scope.active, aliasKey(command.program)]) });
  for (const inner of innersOf(command, kind, files, scope)) {
    written = runInner(inner, command, place, home);
  }
  // What `tar -I zstd` writes is the compressor's, and still holds what tar has read.
  return written !== null && readsSecret(command) ? { ...written, secret: true } : written;
}

/** Whether a redirection matters to a rule; `2>&1` and `> /dev/null` are common and harmless. */
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
    args: [],
    redirections,
    assignments,
    cwd: folderOf(scope),
    stdin: null,
    inputs: null,
    wrappers: scope.wrappers,
    span,
  });
  judge(command, programOf(""), scope);
}

/** Matches a command with the rules of its name, of other possible names, and of all commands. */
function judge(
  command: SimpleCommand,
  kind: Program,
  scope: Scope,
  others: readonly string[] = NONE,
): void {
  const matched = matchRules(kind.rules, command);
  for (const name of others) {
    matched.push(...matchRules(programOf(name).rules, newCommand({ ...command, name })));
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
  else if ((name.includes(UNKNOWN) || program.includes(ONE_OF)) && !scope.defining) {
    report(scope, HIDDEN_PROGRAM, span);
  }
  if (name.length < 2 || !hasGlob(name)) return [];
  report(scope, HIDDEN_PROGRAM, span);
  return RULE_NAMES.filter((candidate) => matchesGlob(name, candidate, scope.inspection.budget));
}

const NONE: readonly string[] = [];
/** Begins a list of words of which any may run; a slash in it ends no folder. */
const ONE_OF = `${UNKNOWN} `;

function innersOf(
  command: SimpleCommand,
  kind: Program,
  files: readonly Flow[],
  scope: Scope,
): readonly Inner[] {
  const read = (path: string) => readFile(scope, path);
  const { name, args } = command;
  if (name === "." || name === "source") {
    const [path = ""] = withoutDashes(args);
    const flow = read(path) ?? (STDIN_PATHS.has(path) ? command.stdin : null);
    return flow === null ? [] : [{ kind: "shell", flow }];
  }
  const inners = kind.hasFolder && files.length > 0 ? NO_INNERS : unwrap(command, kind, read);
  const startups = SHELLS.has(name)
    ? STARTUPS.map((variable) => read(scope.values.get(variable) ?? ""))
    : [];
  if (files.length === 0 && startups.length === 0) return inners;
  const scripts = [...startups, ...files].filter((flow) => flow !== null);
  return [
    ...scripts.map((flow): Inner => ({ kind: "shell", flow, positional: args })),
    ...inners,
  ];
}

const NO_INNERS: readonly Inner[] = [];
/** Variables that name a file which a shell reads when it starts. */
const STARTUPS = ["BASH_ENV", "ENV"];

/** Asks a program's unwrapper, and never again one that answers null. */
function unwrap(command: SimpleCommand, kind: Program, read: ReadFile): readonly Inner[] {
  const inners = kind.runsNothing ? null : kind.unwrap(command, read);
  if (inners === null) kind.runsNothing = true;
  return inners ?? NO_INNERS;
}

/** The shell state that the code inside a command shares or inherits. */
function placeFor(
  { name, args }: SimpleCommand,
  { values, functions, shell }: Scope,
): Partial<Scope> {
  if (EVALUATING.has(name)) return { values, functions, shell };
  if (name === "trap" || name === "alias") return {};
  const others = functions.forkProgram(false);
  if (IN_PLACE.has(name)) return { values, functions: others, shell };
  const cleans = OWN_ENVIRONMENT.has(name) || (name === "env" && args[0]?.startsWith("-"));
  return {
    values: values.forkProgram(!cleans),
    functions: others,
    shell: { ...shell, input: null },
    locals: null,
  };
}

/** `command export x=1` sets its variable for the rest of the line. */
const IN_PLACE = new Set(["command", "builtin"]);

/** They change the shell that they run in. */
const EVALUATING = new Set(["eval", ".", "source"]);

const OWN_ENVIRONMENT = factsOf("ownEnvironment");
const TAKES_INPUT = factsOf("takesInput");

function runInner(inner: Inner, command: SimpleCommand, scope: Scope, home: Scope): Flow {
  const { name } = command;
  const wrapped = fork(scope, {
    wrappers: [...scope.wrappers, name],
    span: command.span,
    defining: false,
    unread: scope.unread && command.redirections.length === 0,
    ...placeFor(command, scope),
  });
  switch (inner.kind) {
    case "argv": {
      const assignments = new Map(inner.assignments);
      for (const [variable, value] of assignments) give(wrapped, variable, value);
      const stdin = TAKES_INPUT.has(name) ? null : command.stdin;
      const next = { assignments, redirections: [], stdin, span: command.span };
      return execute(inner.argv, next, wrapped, IN_PLACE.has(name) ? home : wrapped);
    }
    case "shell": {
      if (isRunnable(inner.flow, command.span, wrapped)) {
        if (inner.zero !== undefined) wrapped.values.set("0", inner.zero);
        const positional = inner.positional === undefined && EVALUATING.has(name)
          ? scope.positional
          : argumentsOf(inner.positional ?? []);
        return walkText(
          inner.flow.text ?? "",
          within(wrapped, { positional }),
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
  // An unknown program of awk is usually a pattern.
  const seen = flow.text?.trim() === UNKNOWN && !language.endsWith("awk")
    ? { ...flow, text: null }
    : flow;
  if (!isRunnable(seen, command.span, scope)) return;
  const scan = scanCode(flow.text ?? "", language, scope.inspection.budget);
  for (const rule of RULES_FOR_CODE) {
    if (rule.matchCode?.(scan)) report(scope, rule, command.span);
  }
  for (const text of scan.shellTexts) {
    walkText(text, fork(scope, { positional: argumentsOf([]) }), null);
  }
  const place = fork(scope, { positional: argumentsOf([]) });
  for (const text of scan.statements) walkForeign(text, SEPARATORS, place);
}

/** Builtins compute the subscripts in their arguments, and so run the code in them: `let 'a[$(…)]=1'`. */
function walkSubscripts(command: SimpleCommand, scope: Scope): void {
  const { name, args, span } = command;
  if (!EVALUATORS.has(name)) return;
  const isNumber = name === "let" || hasFlag(command, "i");
  // The operands of printf are no names.
  for (const arg of name === "printf" ? optionValues(command, "-v") : args) {
    const at = arg.indexOf("[");
    if (at >= 0) evaluate(arg.slice(at), scope, span);
    else if (isNumber) evaluate(arg, scope, span);
  }
}
