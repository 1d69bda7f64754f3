import type { Function as FunctionNode } from "unbash";
import type { Budget } from "./budget.ts";
import { type Finding, type Flow, known, type SimpleCommand, type Span } from "./command.ts";
import { FileNames } from "./file_names.ts";
import { Names, Values } from "./names.ts";
import { argumentsOf, type Positional } from "./parameter.ts";
import { locate, normalizePath } from "./paths.ts";
import type { Rule } from "./rule.ts";

/** What is shared by the whole inspection of one command. */
export interface Inspection {
  readonly budget: Budget;
  /** The first place of each rule that matched. */
  readonly findings: Map<Rule, Finding>;
  /** Every command that was found, with the rules that matched it. */
  readonly commands: { readonly command: SimpleCommand; readonly rules: Rule[] }[];
  /** What the line itself writes to files, by normalized path; `<(…)` has paths here too. */
  readonly files: Map<string, Flow>;
  /** What commands before it wrote to files. */
  readonly earlier: ReadonlyMap<string, Flow>;
  /** The last parts of all these paths: most words name none of them, and that is quickly seen. */
  readonly fileNames: FileNames;
  /** The files of earlier commands that it reads. */
  readonly recalled: Set<string>;
}

/** What holds at one place of the command. */
export interface Scope {
  readonly inspection: Inspection;
  readonly values: Values;
  readonly functions: Names<FunctionNode>;
  readonly positional: Positional;
  /** The wrappers around this place, the outermost first. */
  readonly wrappers: readonly string[];
  /** Where the enclosing command stands; null while offsets of the text itself are right. */
  readonly span: Span | null;
  /** The functions that are being called. */
  readonly active: ReadonlySet<FunctionNode>;
  /** In a pipe or in the background: what is called here runs beside its caller. */
  readonly concurrent: boolean;
  /** In a branch that may not run: what is set here may not hold later. */
  readonly conditional: boolean;
  /** In a function's definition: its arguments are not known yet. */
  readonly defining: boolean;
  /** Nothing in the line reads what is written here, so it need not be computed. */
  readonly unread: boolean;
}

/** The scope of a command's outermost text. */
export function outermost(inspection: Inspection): Scope {
  return {
    inspection,
    values: new Values(),
    functions: new Names(),
    positional: argumentsOf(null),
    wrappers: [],
    span: null,
    active: new Set(),
    concurrent: false,
    conditional: false,
    defining: false,
    unread: true,
  };
}

/** The same place but for some changes. */
export function within(scope: Scope, changes: Partial<Scope>): Scope {
  return Object.assign(copyOf(scope, scope.values, scope.functions), changes);
}

/** A scope whose variables do not leak out: a subshell, a pipe's stage, a substitution. */
export function fork(scope: Scope, changes: Partial<Scope> = NO_CHANGES): Scope {
  const copy = copyOf(scope, scope.values.fork(), scope.functions.fork());
  copy.positional = { words: scope.positional.words, sure: scope.positional.sure };
  return changes === NO_CHANGES ? copy : Object.assign(copy, changes);
}

const NO_CHANGES: Partial<Scope> = {};

/** All scopes have one layout: they are read most of the time. */
function copyOf(scope: Scope, values: Scope["values"], functions: Scope["functions"]) {
  return {
    inspection: scope.inspection,
    values,
    functions,
    positional: scope.positional,
    wrappers: scope.wrappers,
    span: scope.span,
    active: scope.active,
    concurrent: scope.concurrent,
    conditional: scope.conditional,
    defining: scope.defining,
    unread: scope.unread,
  };
}

/** Notes a rule that matched, at the first place where it does. */
export function report(scope: Scope, rule: Rule, span: Span): void {
  const { findings } = scope.inspection;
  if (!findings.has(rule)) findings.set(rule, { rule, span, wrapped: scope.wrappers.length > 0 });
}

/** Sets a variable; in a branch that may not run, a changed value becomes unknown. */
export function assign(scope: Scope, name: string, value: string): void {
  const before = scope.values.get(name);
  const certain = !scope.conditional || before === value ||
    (before === undefined && !AMBIENT.has(name));
  scope.values.set(name, certain ? value : "\0");
}

const AMBIENT = new Set(["HOME", "TMPDIR", "PWD", "TMP", "TEMP", "IFS"]);

/** The folder that the line has changed to; `.` where it has not. */
export function folderOf(scope: Scope): string {
  return scope.values.get("PWD") ?? ".";
}

/** What the line wrote to a path; null for a file that it did not write. */
export function readFile(scope: Scope, path: string): Flow | null {
  const { files, earlier, recalled } = scope.inspection;
  if (files.size === 0 && earlier.size === 0) return null;
  if (!scope.inspection.fileNames.mayHave(path)) return null;
  const key = fileKey(scope, path);
  const own = files.get(key);
  if (own !== undefined) return own;
  const before = earlier.get(key);
  if (before === undefined) return null;
  recalled.add(key);
  return before;
}

/** One name for one file, whatever folder the line is in. */
function fileKey(scope: Scope, path: string): string {
  return normalizePath(locate(folderOf(scope), path));
}

/** What the files hold that these words name, also as `@file`, `x=@file` and `of=file`. */
export function readInputs(scope: Scope, words: readonly string[]): Flow | null {
  if (scope.inspection.files.size === 0 && scope.inspection.earlier.size === 0) return null;
  const flows: Flow[] = [];
  const { fileNames } = scope.inspection;
  for (const word of words) {
    if (!fileNames.mayEnd(word)) continue;
    const at = Math.max(word.lastIndexOf("@"), word.lastIndexOf("="));
    const flow = readFile(scope, word) ?? (at < 0 ? null : readFile(scope, word.slice(at + 1)));
    if (flow !== null) flows.push(flow);
  }
  return flows.length === 0 ? null : { ...mergeFlows(flows), text: null };
}

/** Notes what the line writes to a path. */
export function writeFile(scope: Scope, path: string, flow: Flow, append: boolean): void {
  const { files } = scope.inspection;
  const before = append || scope.conditional ? readFile(scope, path) : null;
  // Where it may not have been written, both contents have to be judged, one after the other.
  const parts = before === null ? [flow] : append ? [before, flow] : [before, known("\n"), flow];
  const key = fileKey(scope, path);
  files.set(key, parts.length === 1 ? flow : mergeFlows(parts));
  scope.inspection.fileNames.add(key);
}

/** One flow after the other. */
export function mergeFlows(flows: readonly Flow[]): Flow {
  let text: string | null = "";
  let network = false;
  let decoded = false;
  let secret = false;
  let bulk = false;
  for (const flow of flows) {
    text = text === null || flow.text === null ? null : text + flow.text;
    network ||= flow.network;
    decoded ||= flow.decoded;
    secret ||= flow.secret;
    bulk ||= flow.bulk;
  }
  return { text, network, decoded, secret, bulk };
}
