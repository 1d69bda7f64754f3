import type {
  Case,
  Command,
  CompoundList,
  For,
  Function as FunctionNode,
  ParsedScript,
  PipelineNode,
  Redirection as RedirectionNode,
  Select,
  Statement,
  SyntaxNode,
} from "unbash";
import { BudgetSpent, spend, spendParse } from "./budget.ts";
import { type Flow, known, NOTHING, type Span, UNKNOWN } from "./command.ts";
import { execute, judgeRedirections, runVariables } from "./execute.ts";
import { walkArithmetic, walkBrackets, walkTest } from "./brackets.ts";
import { parseShell } from "./parse.ts";
import { assignElements, expandValue } from "./assignments.ts";
import { addWords, expandText, expandWord } from "./expand.ts";
import { ScopeExpansion } from "./scope_expansion.ts";
import { noteRedirections } from "./effects.ts";
import { expandRedirections } from "./redirections.ts";
import { MAX_DEPTH } from "./limits.ts";
import { assign, fork, mergeFlows, report, type Scope, within } from "./scope.ts";
import { UNPARSEABLE } from "./rules/structure.ts";

/** Parses text and walks all that it runs. @throws {BudgetSpent} */
export function walkText(text: string, scope: Scope, stdin: Flow | null): Flow {
  spendParse(scope.inspection.budget, text.length);
  if (scope.wrappers.length > MAX_DEPTH) throw new BudgetSpent();
  const script = parseShell(text);
  if (script.errors === undefined || script.errors.length === 0) {
    return walkScript(script, scope, stdin);
  }
  report(scope, UNPARSEABLE, scope.span ?? { start: 0, end: text.length });
  if (text.includes("\n")) walkPieces(text, "\n", fork(scope), true);
  walkPieces(text, "\n;|&", fork(scope), false);
  return NOTHING;
}

/** To parse even the smallest piece takes as long as this many characters of one. */
const PIECE_COST = 64;

/**
 * Of a broken text a shell still runs the good lines before the broken one, and another shell may
 * read it otherwise: so its lines, and then its smallest pieces, are looked at on their own. What
 * the parser recovers from the whole is not used: more text could change it, and lower the score.
 */
function walkPieces(text: string, separators: string, scope: Scope, whole: boolean): void {
  for (let from = 0, i = 0; i <= text.length; i++) {
    if (i < text.length && !separators.includes(text[i] ?? "")) continue;
    const piece = text.slice(from, i);
    if (piece.trim() !== "") {
      spendParse(scope.inspection.budget, piece.length + PIECE_COST);
      const script = parseShell(piece);
      const span = scope.span ?? { start: from, end: i };
      if (!whole || script.errors === undefined) walkScript(script, within(scope, { span }), null);
    }
    from = i + 1;
  }
}

/** Walks what was parsed. */
export function walkScript(script: ParsedScript, scope: Scope, stdin: Flow | null): Flow {
  return walkStatements(script.commands, scope, stdin);
}

function walkStatements(statements: readonly Statement[], scope: Scope, stdin: Flow | null): Flow {
  if (scope.unread) {
    for (const statement of statements) walkStatement(statement, scope, stdin);
    return NOTHING;
  }
  if (statements.length === 1) return walkStatement(statements[0]!, scope, stdin);
  return mergeFlows(statements.map((statement) => walkStatement(statement, scope, stdin)));
}

function walkStatement(statement: Statement, scope: Scope, stdin: Flow | null): Flow {
  const inner = statement.background ? within(scope, { concurrent: true }) : scope;
  const node = statement.command;
  if (node.type !== "AndOr") return walkNode(node, inner, stdin);
  return mergeFlows(
    node.commands.map((command, i) =>
      walkNode(command, i === 0 ? inner : { ...inner, conditional: true }, stdin)
    ),
  );
}

function walkList(list: CompoundList, scope: Scope, stdin: Flow | null): Flow {
  return walkStatements(list.commands, scope, stdin);
}

function walkNode(node: PipelineNode | CompoundList, scope: Scope, stdin: Flow | null): Flow {
  spend(scope.inspection.budget, 0);
  switch (node.type) {
    case "Command":
      return walkCommand(node, scope, stdin);
    case "Pipeline": {
      if (node.commands.length === 1 && node.commands[0] !== undefined) {
        return walkNode(node.commands[0], scope, stdin);
      }
      let flow = stdin;
      const last = node.commands.length - 1;
      for (const [i, command] of node.commands.entries()) {
        const unread = scope.unread && i === last;
        flow = walkNode(command, fork(scope, { concurrent: true, unread }), flow);
      }
      return flow ?? NOTHING;
    }
    case "Redirected": {
      const expansion = new ScopeExpansion(scope, stdin);
      const { redirections, input } = expandRedirections(
        node.redirects,
        expansion,
        scope,
        stdin,
      );
      judgeRedirections(redirections, spanOf(node, scope), scope);
      const unread = scope.unread && redirections.length === 0;
      const output = walkNode(node.command, within(scope, { unread }), input ?? stdin);
      noteRedirections(redirections, output, scope);
      return output;
    }
    case "CompoundList":
      return walkList(node, scope, stdin);
    case "BraceGroup":
      return walkList(node.body, scope, stdin);
    case "Subshell":
      return walkList(node.body, fork(scope), stdin);
    case "If": {
      const branch = within(scope, { conditional: true });
      const flows = [walkList(node.clause, scope, stdin), walkList(node.then, branch, stdin)];
      for (const elif of node.elif) {
        flows.push(walkList(elif.clause, branch, stdin), walkList(elif.then, branch, stdin));
      }
      if (node.else !== undefined) flows.push(walkList(node.else, branch, stdin));
      return mergeFlows(flows);
    }
    case "While":
      return mergeFlows([
        walkList(node.clause, scope, stdin),
        walkList(node.body, within(scope, { conditional: true }), stdin),
      ]);
    case "For":
    case "Select":
      return walkLoop(node, scope, stdin);
    case "ArithmeticFor":
      for (const part of [node.initialize, node.test, node.update]) walkArithmetic(part, scope);
      return walkList(node.body, within(scope, { conditional: true }), stdin);
    case "Case":
      return walkCase(node, scope, stdin);
    case "Function":
      defineFunction(node, scope);
      return known("");
    case "Coproc":
      return walkNode(node.body, within(scope, { concurrent: true }), stdin);
    case "TestCommand":
      walkTest(node.expression, scope);
      return known("");
    case "ArithmeticCommand":
      walkBrackets(node.expression, node.body, scope);
      return known("");
  }
}

/** Items of one loop that are walked one by one. */
const MAX_LOOP_ITEMS = 16;

function walkLoop(node: For | Select, scope: Scope, stdin: Flow | null): Flow {
  const expansion = new ScopeExpansion(scope, stdin);
  const items = node.wordlist?.flatMap((word) => expandWord(word, expansion)) ??
    [...scope.positional ?? [UNKNOWN]];
  const few = items.length === 0 ? [UNKNOWN] : items.slice(0, MAX_LOOP_ITEMS);
  if (items.length > MAX_LOOP_ITEMS) few.push(UNKNOWN);
  return mergeFlows(few.map((item) => {
    scope.values.set(node.name.value, item);
    return walkList(node.body, within(scope, { conditional: true }), stdin);
  }));
}

function walkCase(node: Case, scope: Scope, stdin: Flow | null): Flow {
  const expansion = new ScopeExpansion(scope, stdin);
  expandText(node.word, expansion);
  return mergeFlows(node.items.map((item) => {
    for (const pattern of item.pattern) expandText(pattern, expansion);
    return walkList(item.body, within(scope, { conditional: true }), stdin);
  }));
}

/** A definition is walked once as it stands; each call walks it again with its arguments. */
function defineFunction(node: FunctionNode, scope: Scope): void {
  const name = node.name.value;
  scope.functions.set(name, node);
  walkNode(
    node.body,
    fork(scope, {
      positional: null,
      defining: true,
      span: scope.span ?? { start: node.pos, end: node.end },
      active: new Set([...scope.active, name]),
    }),
    null,
  );
}

/** Runs a function that the line defined. */
export function callFunction(
  node: FunctionNode,
  args: readonly string[],
  scope: Scope,
  span: Span,
  stdin: Flow | null,
): Flow {
  const active = new Set([...scope.active, node.name.value]);
  return walkNode(
    node.body,
    within(scope, { positional: args, span, active, defining: false }),
    stdin,
  );
}

const NO_ASSIGNMENTS = new Map<string, string>();
const NO_NODES: readonly RedirectionNode[] = [];

/** The parser makes a list of them when it is asked; most commands have none. */
function redirectsOf(node: Command): readonly RedirectionNode[] {
  const none = node.prefix.length === 0 && node.args.length === node.suffix.length;
  return none ? NO_NODES : node.redirects;
}

function walkCommand(node: Command, scope: Scope, stdin: Flow | null): Flow {
  const span = spanOf(node, scope);
  const expansion = new ScopeExpansion(scope, stdin);
  const assignments = node.prefix.length === 0 ? NO_ASSIGNMENTS : new Map<string, string>();
  for (const part of node.prefix) {
    if (part.type !== "Assignment") continue;
    const value = expandValue(part.value, expansion);
    if (part.value.type === "ArrayValue") {
      assignElements(part.name, part.value.elements, scope, expansion);
    }
    const before = part.append ? scope.values.get(part.name) ?? "" : "";
    assignments.set(
      part.index === undefined ? part.name : `${part.name}[${expandText(part.index, expansion)}]`,
      before + value,
    );
  }
  const redirects = redirectsOf(node);
  const { redirections, input } = expandRedirections(redirects, expansion, scope, stdin);
  if (node.name === undefined) {
    for (const [name, value] of assignments) assign(scope, name, value);
    runVariables(assignments, span, scope);
    judgeRedirections(redirections, span, scope, assignments);
    // `$(< file)` is what the file holds.
    return input ?? known("");
  }
  // `X=rm; X=ls $X` expands before the prefix takes hold, yet `X=rm sh -c '$X'` sees it.
  const argv = expandWord(node.name, expansion);
  const both = redirects.find(({ operator }) => operator.startsWith("&>"));
  let behind: number | null = null;
  for (const arg of node.args) {
    if (both !== undefined && arg.pos > both.pos) behind ??= argv.length;
    if (arg.type === "Word") addWords(arg, expansion, argv);
    else {
      const value = expandValue(arg.value, expansion);
      argv.push(`${arg.name}=${value}`);
      assign(scope, arg.name, isReference(argv) ? UNKNOWN : value);
    }
  }
  let inner = scope;
  if (assignments.size > 0) {
    inner = within(scope, { values: scope.values.fork() });
    for (const [name, value] of assignments) inner.values.set(name, value);
  }
  if (behind !== null) {
    // A plain sh knows no `&>`: for it a command ends at the `&`, and the words behind are the next one.
    const next = { assignments: NO_ASSIGNMENTS, redirections: [], stdin, span };
    execute(argv.slice(behind), next, fork(scope, { concurrent: true }));
  }
  return execute(argv, { assignments, redirections, stdin: input ?? stdin, span }, inner);
}

/** `declare -n a=b`: `$a` is then what `$b` will be. */
const isReference = ([name = "", ...args]: readonly string[]) =>
  REFERRERS.has(name) && args.some((arg) => arg.startsWith("-") && arg.includes("n"));
const REFERRERS = new Set(["declare", "typeset", "local"]);

function spanOf(node: SyntaxNode, scope: Scope): Span {
  return scope.span ?? { start: node.pos, end: node.end };
}
