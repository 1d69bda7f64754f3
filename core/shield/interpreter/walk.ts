import type {
  Assignment,
  Case,
  Command,
  CompoundList,
  For,
  PipelineNode,
  Redirection as RedirectionNode,
  Select,
  SyntaxNode,
} from "unbash";
import { spend } from "./budget.ts";
import { type Flow, known, mergeFlows, NOTHING, perhaps, type Span, UNKNOWN } from "../model.ts";
import { type Call, execute, runVariables } from "./execute.ts";
import { judgeRedirections } from "./judge.ts";
import { walkArithmetic, walkBrackets, walkTest } from "./brackets.ts";
import {
  assignElement,
  assignElements,
  elementsOf,
  expandValue,
  heldElements,
  mix,
} from "./assignments.ts";
import { addWords, expandText, expandWord, type Expansion } from "./expand.ts";
import { ScopeExpansion } from "./scope_expansion.ts";
import { noteRedirections } from "../programs/effects.ts";
import type { Kept, Value } from "./names.ts";
import { defineFunction } from "./functions.ts";
import { expandRedirections } from "./redirections.ts";
import { ASIDE, neverHolds, walkBody, walkStatements } from "./lists.ts";
import {
  assign,
  doubtWhere,
  fork,
  forkCertain,
  give,
  inputOf,
  replaceInput,
  type Scope,
  type Walker,
  within,
} from "./scope.ts";

/** Walks any node of the syntax tree. */
function walkNode(
  node: PipelineNode | CompoundList,
  scope: Scope,
  stdin: Flow | null,
): Flow {
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
      return walkStatements(node.commands, scope, stdin);
    case "BraceGroup":
      return walkStatements(node.body.commands, scope, stdin);
    case "Subshell":
      return walkStatements(node.body.commands, fork(scope), stdin);
    case "If": {
      const flows = [
        walkStatements(node.clause.commands, scope, stdin),
        ...neverHolds(node.clause, scope) ? [] : [walkBody(node.then, scope, stdin)],
      ];
      for (const elif of node.elif) {
        flows.push(walkBody(elif.clause, scope, stdin), walkBody(elif.then, scope, stdin));
      }
      if (node.else !== undefined) flows.push(walkBody(node.else, scope, stdin));
      return mergeFlows(flows);
    }
    case "While":
      return mergeFlows([
        walkStatements(node.clause.commands, scope, stdin),
        ...node.kind === "while" && neverHolds(node.clause, scope)
          ? []
          : [walkBody(node.body, scope, stdin)],
      ]);
    case "For":
    case "Select":
      return walkLoop(node, scope, stdin);
    case "ArithmeticFor":
      for (const part of [node.initialize, node.test, node.update]) walkArithmetic(part, scope);
      return walkBody(node.body, scope, stdin);
    case "Case":
      return walkCase(node, scope, stdin);
    case "Function":
      defineFunction(node, scope);
      return known("");
    case "Coproc":
      // Its input comes from whoever holds the other end.
      return walkNode(node.body, fork(scope, ASIDE), NOTHING);
    case "TestCommand":
      walkTest(node.expression, scope);
      return known("");
    case "ArithmeticCommand":
      walkBrackets(node.expression, node.body, scope);
      return known("");
  }
}

/** Numbers of one loop that are walked one by one; further ones add nothing. */
const MAX_NUMBERS = 16;

function walkLoop(node: For | Select, scope: Scope, stdin: Flow | null): Flow {
  const { doubts } = scope.values;
  const itemsIn = (place: Scope) => {
    const expansion = new ScopeExpansion(place, stdin);
    return node.wordlist?.flatMap((word) => expandWord(word, expansion)) ??
      [...place.positional.words ?? [UNKNOWN]];
  };
  const items = itemsIn(scope);
  if (scope.values.doubts > doubts) items.push(...itemsIn(forkCertain(scope, [])));
  const more = items.slice(MAX_NUMBERS);
  const few = more.every((item) => /^\d+$/.test(item)) ? items.slice(0, MAX_NUMBERS) : items;
  if (few.length === 0 || few.length < items.length) few.push(UNKNOWN);
  if (node.type === "Select") scope.values.set("REPLY", UNKNOWN);
  return mergeFlows(few.map((item) => {
    scope.values.set(node.name.value, item);
    return walkBody(node.body, scope, stdin);
  }));
}

function walkCase(node: Case, scope: Scope, stdin: Flow | null): Flow {
  const expansion = new ScopeExpansion(scope, stdin);
  expandText(node.word, expansion);
  return mergeFlows(node.items.map((item) => {
    for (const pattern of item.pattern) expandText(pattern, expansion);
    return walkBody(item.body, scope, stdin);
  }));
}

const NO_ASSIGNMENTS = new Map<string, string>();
const NO_NODES: readonly RedirectionNode[] = [];

/** The parser builds this list on access, and most commands have no redirections: scripts take 17 % longer with it. */
function redirectsOf(node: Command): readonly RedirectionNode[] {
  const none = node.prefix.length === 0 && node.args.length === node.suffix.length;
  return none ? NO_NODES : node.redirects;
}

function walkCommand(node: Command, scope: Scope, given: Flow | null): Flow {
  const stdin = inputOf(scope, given);
  const span = spanOf(node, scope);
  const expansion = new ScopeExpansion(scope, stdin);
  const { values } = scope;
  const { doubts } = values;
  const kept = node.prefix.length === 0 ? [] : keepArrays(node, scope);
  const assignments = node.prefix.length === 0
    ? NO_ASSIGNMENTS
    : expandAssignments(node, scope, expansion);
  const redirects = redirectsOf(node);
  const { redirections, input } = expandRedirections(redirects, expansion, scope, stdin);
  if (node.name === undefined) {
    const certain = values.doubts > doubts ? forkCertain(scope, kept) : null;
    for (const part of node.prefix) {
      if (part.type !== "Assignment" || isElement(part)) continue;
      assign(scope, part.name, assignments.get(part.name) ?? "");
    }
    runVariables(assignments, span, scope);
    // A connection that nobody reads or writes is closed at once: it asks whether a port is open.
    const lasting = scope.unread
      ? redirections.filter(({ target }) => !isNetworkDevice(target))
      : redirections;
    judgeRedirections(lasting, span, scope, assignments);
    if (certain !== null) walkCertain(node, scope, certain, given);
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
    else argv.push(`${arg.name}=${expandValue(arg.value, expansion)}`);
  }
  const certain = values.doubts > doubts ? forkCertain(scope, kept) : null;
  let inner = scope;
  if (assignments.size > 0) {
    inner = within(scope, { values: values.fork() });
    for (const [name, value] of assignments) give(inner, name, value);
  }
  if (behind !== null) {
    // A plain sh has no `&>`: the command ends at the `&`, and the words behind it are the next command.
    const next = { assignments: NO_ASSIGNMENTS, redirections: [], stdin, span };
    execute(argv.slice(behind), next, fork(scope, { concurrent: true }));
  }
  if (input !== null && argv.length === 1 && argv[0] === "exec" && redirects.some(isForInput)) {
    replaceInput(scope, given, input);
  }
  const call = { assignments, redirections, stdin: input ?? stdin, span };
  const other = expansion.optional ? executeWithout(node, call, inner, stdin) : null;
  const output = execute(argv, call, inner, scope);
  if (SPECIAL.has(argv[0] ?? "")) {
    for (const [name, value] of assignments) scope.values.set(name, perhaps(value));
  }
  for (const arg of node.args) {
    if (arg.type !== "Assignment" || arg.value.type !== "ArrayValue") continue;
    const words = elementsOf(arg.value, expansion);
    if (words !== null) assignElements(arg.name, words, scope);
  }
  if (certain !== null) walkCertain(node, scope, certain, given);
  return other === null || other.text === output.text
    ? output
    : { ...mergeFlows([output, other]), text: null };
}

/** Walks a command once more, without any doubtful assignment. */
function walkCertain(node: Command, scope: Scope, certain: Scope, given: Flow | null): void {
  walkCommand(node, certain, given);
  doubtWhere(scope, certain);
}

const isNetworkDevice = (target: string): boolean => /^\/dev\/(?:tcp|udp)\//.test(target);

/** Whether a redirection may be one of standard input. */
const isForInput = ({ descriptor }: RedirectionNode) =>
  descriptor?.type !== "FileDescriptor" || descriptor.value === 0;

/** In a plain sh, variables in front of these builtins keep their values. */
const SPECIAL = new Set([":", "eval", "export", "readonly", "set", "shift", "trap", "unset"]);

/** Runs a command with `${x+word}` left out. */
function executeWithout({ name, args }: Command, call: Call, scope: Scope, stdin: Flow | null) {
  const expansion = new ScopeExpansion(scope, stdin, true);
  const words = [...name === undefined ? [] : [name], ...args].filter((arg) => arg.type === "Word");
  return execute(words.flatMap((word) => expandWord(word, expansion)), call, fork(scope));
}

const isElement = ({ index, value }: Assignment): boolean =>
  index !== undefined || value.type === "ArrayValue";

/** The earlier states of the arrays that are set in front of a command. */
function keepArrays({ prefix }: Command, { values }: Scope): [string, Kept<Value>][] {
  return prefix.filter((part) => part.type === "Assignment").filter(isElement)
    .map(({ name }) => [name, values.keep(name)]);
}

/** The variables in front of a command, by name; elements of arrays are set at once. */
function expandAssignments(node: Command, scope: Scope, expansion: Expansion) {
  const assignments = new Map<string, string>();
  for (const part of node.prefix) {
    if (part.type !== "Assignment") continue;
    const { name, index, value } = part;
    const text = expandValue(value, expansion);
    const given = expansion.optional ? perhaps(text) : text;
    expansion.optional = false;
    const place = index === undefined ? null : expandText(index, expansion);
    if (place !== null) {
      expansion.evaluate(place);
      assignElement(name, place, part.append ? perhaps(given) : given, scope);
    } else if (value.type === "ArrayValue") {
      const before = part.append ? heldElements(name, scope) : [];
      const words = elementsOf(value, expansion);
      if (words === null || before === null) mix(name, given, scope);
      else assignElements(name, [...before, ...words], scope);
    }
    const before = part.append && !isElement(part) ? scope.values.get(name) ?? "" : "";
    assignments.set(place === null ? name : `${name}[${place}]`, before + given);
  }
  return assignments;
}

function spanOf(node: SyntaxNode, scope: Scope): Span {
  return scope.span ?? { start: node.pos, end: node.end };
}

/** The walk, as its parts call back into it. */
export const WALKER: Walker = { node: walkNode, brackets: walkBrackets };
