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
  LISTED,
  newCommand,
  NOTHING,
  type Redirection,
  type SimpleCommand,
  type Span,
  UNKNOWN,
} from "../model.ts";
import { computeOutput, readsSecret } from "../programs/output.ts";
import { argumentsOf } from "./parameter.ts";
import { RULES_FOR_CODE } from "../packs/packs.ts";
import { DECODED_CODE, DOWNLOADED_CODE, FORK_BOMB, UNSEEN_CODE } from "../packs/structure.ts";
import { MAX_DEPTH } from "./limits.ts";
import { factsOf } from "../programs/families.ts";
import { type Program, programOf } from "../programs/programs.ts";
import { noteRedirections, writtenPaths } from "../programs/effects.ts";
import { isShellStartup, locate } from "../programs/paths.ts";
import { judge, judgeRedirections } from "./judge.ts";
import {
  folderOf,
  fork,
  give,
  isNeverUsed,
  readFile,
  readInputs,
  report,
  type Scope,
  within,
} from "./scope.ts";
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
    const name = program.replaceAll(LISTED, "").replaceAll(UNKNOWN, "");
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
    valuedLetters: kind.valuedLetters,
    args,
    redirections: call.redirections,
    assignments: call.assignments,
    cwd: folderOf(scope),
    stdin: call.stdin,
    inputs: readInputs(scope, args),
    wrappers: scope.wrappers,
    span: call.span,
  });
  judge(command, kind, scope);
  if (call.assignments.size > 0 || kind.isBuiltin) {
    runVariables(assignmentsOf(command), call.span, scope);
  }
  if (kind.isBuiltin) {
    walkSubscripts(command, scope);
    updateScope(command, home);
  }
  const files = writtenPrograms(program, kind.hasFolder, scope);
  const runs = (!kind.runsNothing || files.length > 0) && !isUnusedAlias(command, scope);
  const inner = runs ? runInners(command, kind, files, scope, home) : null;
  const followed = call.isFollowed ? null : followAll(kind.name, args, call.redirections, scope);
  if (followed !== null) {
    const { args, redirections } = followed;
    execute([program, ...args], { ...call, redirections, isFollowed: true }, fork(scope));
  }
  return noteOutput(command, kind, inner, scope);
}

/** `alias x='text'` runs nothing unless the line says `x` again. */
const isUnusedAlias = ({ name, args }: SimpleCommand, scope: Scope): boolean =>
  name === "alias" && args.every((arg) => isUnusedName(arg.split("=", 1)[0] ?? "", scope));

const isUnusedName = (name: string, scope: Scope): boolean => isNeverUsed(scope, name, name);

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
  const output = () => written ??= computeOutput(command, (path) => readFile(scope, path));
  if (redirections.length > 0) noteRedirections(redirections, output(), scope);
  kind.noteFiles?.(command, output, scope);
  walkStartups(command, scope);
  if (scope.unread) return NOTHING;
  const flow = output();
  spend(scope.inspection.budget, flow.text?.length ?? 0);
  return flow;
}

/** Walks the text that a command writes to a shell's start-up file of its user, because it runs from then on. */
function walkStartups(command: SimpleCommand, scope: Scope): void {
  const { redirections, cwd, name, span } = command;
  const written = redirections.filter(({ operator }) => operator.includes(">"))
    .map(({ target }) => target);
  for (const path of [...written, ...writtenPaths(command)]) {
    if (!isShellStartup(locate(cwd, path))) continue;
    const text = readFile(scope, path)?.text ?? "";
    const place = fork(scope, { wrappers: [...scope.wrappers, name], span, unread: true });
    walkForeign(text, SEPARATORS_OF_SHELL, place);
  }
}

/** Between lines; text that does not parse is judged line by line. */
const SEPARATORS_OF_SHELL = ["\n", "\n"] as const;

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
    if (isForLater(command, scope)) {
      scope.inspection.later.push(() => runInner(inner, command, place, home));
    } else written = runInner(inner, command, place, home);
  }
  // What `tar -I zstd` writes is the compressor's, and still holds what tar has read.
  return written !== null && readsSecret(command) ? { ...written, secret: true } : written;
}

/** A trap's text runs at the end, when the variables are set that it names. */
function isForLater({ name, args }: SimpleCommand, scope: Scope): boolean {
  if (name !== "trap" || scope.wrappers.length > 0 || scope.span !== null || scope.conditional) {
    return false;
  }
  const names = [...args[0]?.matchAll(/\$\{?(\w+)/g) ?? []].map(([, variable = ""]) => variable);
  return names.length > 0 && names.every((variable) => scope.values.get(variable) === undefined);
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
  command: SimpleCommand,
  { values, functions, shell }: Scope,
): Partial<Scope> {
  const { name } = command;
  if (EVALUATING.has(name)) return { values, functions, shell };
  if (name === "trap" || name === "alias") return {};
  if (IN_PLACE.has(name)) return { values, functions: functions.forkProgram(false), shell };
  const inherits = !OWN_ENVIRONMENT.get(name)?.(command);
  return {
    values: values.forkProgram(inherits),
    functions: functions.forkProgram(inherits),
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
      const own = new Map(inner.assignments);
      for (const [variable, value] of own) give(wrapped, variable, value);
      const inherited = OWN_ENVIRONMENT.get(name)?.(command) ? [] : command.assignments;
      const assignments = new Map([...inherited, ...own]);
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

const WHOLLY_UNKNOWN = new Set([UNKNOWN, LISTED]);

function runCode(flow: Flow, language: string, command: SimpleCommand, scope: Scope): void {
  if (isDownloaded(flow)) return report(scope, DOWNLOADED_CODE, command.span);
  // An unknown program of awk is usually a pattern.
  const seen = WHOLLY_UNKNOWN.has(flow.text?.trim() ?? "") && !language.endsWith("awk")
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
