import type {
  ArithmeticExpression,
  CompoundList,
  Function as FunctionNode,
  ParsedScript,
  PipelineNode,
} from "unbash";
import { type Budget, spend } from "./budget.ts";
import {
  type Finding,
  type Flow,
  known,
  mergeFlows,
  type Rule,
  type SimpleCommand,
  type Span,
  UNKNOWN,
} from "../model.ts";
import { FileNames } from "../programs/file_names.ts";
import { type Kept, Names, type Value, Values } from "./names.ts";
import { argumentsOf, type Positional } from "./parameter.ts";
import { locate, normalizePath } from "../programs/paths.ts";

/** The walk, as far as its parts call back into it: a function, a list or a word may hold any other code. */
export interface Walker {
  /** Walks a command and answers what it writes. @throws {BudgetSpent} */
  node(node: PipelineNode | CompoundList, scope: Scope, stdin: Flow | null): Flow;
  /** Walks `((…))`. @throws {BudgetSpent} */
  brackets(expression: ArithmeticExpression | undefined, text: string, scope: Scope): void;
}

/** What is shared by the whole inspection of one command. */
export interface Inspection {
  readonly walker: Walker;
  /** The text that the caller gave. */
  readonly text: string;
  /** How often each word stands in it; null until somebody asks. */
  mentions: Map<string, number> | null;
  readonly budget: Budget;
  /** The first place of each rule that matched. */
  readonly findings: Map<Rule, Finding>;
  /** Every command that was found, with the rules that matched it. */
  readonly commands: { readonly command: SimpleCommand; readonly rules: Rule[] }[];
  /** What the line itself writes to files, by normalized path; `<(…)` has paths here too. */
  readonly files: Map<string, Flow>;
  /** Where the links lead that the line itself makes, by normalized path. */
  readonly links: Map<string, string>;
  /** Short texts that were parsed. */
  readonly parsed: Map<string, ParsedScript>;
  /** What runs when the line ends: the texts of traps. */
  readonly later: (() => void)[];
  /** What commands before it wrote to files. */
  readonly earlier: ReadonlyMap<string, Flow>;
  /** The file names of all these paths, to reject most words quickly. */
  readonly fileNames: FileNames;
  /** The files of earlier commands that it reads. */
  readonly recalled: Set<string>;
}

/** The state of a shell process; a subshell has a copy. */
interface Shell {
  /** The folder that it has changed to; `.` where it has not. */
  folder: string;
  /** It may have left the list that it is in: `return`, `break`, `exit`. */
  hasLeft: boolean;
  /** It overwrites no files: `set -C`. */
  keepsFiles: boolean;
  /** What it reads since `exec <file`, in place of what it was given. */
  input: { readonly given: Flow | null; readonly flow: Flow } | null;
}

/** The state at one place of the command. */
export interface Scope {
  readonly inspection: Inspection;
  readonly values: Values;
  readonly functions: Names<FunctionNode>;
  readonly shell: Shell;
  /** The outer values of the running function's local variables; null outside of functions. */
  readonly locals: Map<string, Kept<Value>> | null;
  readonly positional: Positional;
  /** The wrappers around this place, the outermost first. */
  readonly wrappers: readonly string[];
  /** The span of the enclosing command; null while offsets of the text itself apply. */
  readonly span: Span | null;
  /** The functions that are being called, and the aliases by the paths they are kept at. */
  readonly active: ReadonlySet<FunctionNode | string>;
  /** In a pipe or in the background: what is called here runs beside its caller. */
  readonly concurrent: boolean;
  /** In a branch that may not run: its assignments may not hold later. */
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
    shell: { folder: ".", hasLeft: false, keepsFiles: false, input: null },
    locals: null,
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

/** A scope that shares this one's variables, with some changes. */
export function within(scope: Scope, changes: Partial<Scope>): Scope {
  return { ...scope, ...changes };
}

/** A scope whose variables do not leak out: a subshell, a pipe's stage, a substitution. */
export function fork(scope: Scope, changes: Partial<Scope> = {}): Scope {
  return {
    ...scope,
    values: scope.values.fork(),
    functions: scope.functions.fork(),
    shell: { ...scope.shell },
    positional: { ...scope.positional },
    ...changes,
  };
}

/** Notes a rule that matched, at the first place where it does. */
export function report(scope: Scope, rule: Rule, span: Span): void {
  const { findings } = scope.inspection;
  if (!findings.has(rule)) findings.set(rule, { rule, span, wrapped: scope.wrappers.length > 0 });
}

/** A copy in which no doubtful assignment took effect, and arrays have their earlier values. */
export function forkCertain(scope: Scope, arrays: readonly [string, Kept<Value>][]): Scope {
  spend(scope.inspection.budget, scope.values.size);
  const values = scope.values.forkCertain();
  for (const [name, before] of arrays) values.restore(name, before);
  return fork(scope, { values, conditional: true });
}

/** Walks a branch that may not run: its assignments hold inside it, and are doubtful afterwards. */
export function walkBranch<T>(
  scope: Scope,
  walk: (branch: Scope) => T,
  folder: string = folderOf(scope),
): T {
  const { values, functions, shell } = scope;
  const own = { ...shell, folder };
  const positional = { words: scope.positional.words, sure: scope.positional.sure };
  values.openBranch();
  functions.openBranch();
  const result = walk(within(scope, { conditional: true, shell: own, positional }));
  values.closeBranch();
  functions.closeBranch(() => undefined);
  mixArguments(scope, positional);
  const hasMoved = own.folder !== folder && normalizePath(own.folder) !== normalizePath(folder);
  Object.assign(shell, own, {
    folder: hasMoved ? eitherFolder(shell.folder, own.folder) : shell.folder,
  });
  return result;
}

/** Merges the arguments of a branch that may have set or shifted them. */
function mixArguments({ positional, inspection }: Scope, branch: Positional): void {
  const { words } = positional;
  positional.sure &&= branch.sure;
  if (branch.words === words || branch.words === null) return;
  spend(inspection.budget, branch.words.length + (words?.length ?? 0));
  positional.sure = false;
  positional.words = [...new Set([...branch.words, ...words ?? []])];
}

/** Marks what differs in the copy without doubtful assignments as doubtful. */
export function doubtWhere(scope: Scope, certain: Scope): void {
  scope.values.doubtWhere(certain.values);
  mixArguments(scope, certain.positional);
  scope.shell.folder = eitherFolder(scope.shell.folder, certain.shell.folder);
}

/**
 * Whether this place is in the text that the caller gave, and nothing there says the name but the definition itself: then
 * what is defined never runs.
 */
export function isNeverUsed(
  { inspection, wrappers, span }: Scope,
  name: string,
  definition: string,
): boolean {
  if (wrappers.length > 0 || span !== null) return false;
  inspection.mentions ??= countWords(inspection.text);
  const inside = countWords(definition).get(name);
  const said = inspection.mentions.get(name);
  return inside !== undefined &&
    (said === inside || said === inside + countShown(inspection.text, name));
}

/** How often `declare -f name` prints the definition; what is printed stays text where nothing takes it further. */
function countShown(text: string, name: string): number {
  if (text.length > SHOWN_MAX || /[`|]|[$<]\(|>/.test(text)) return 0;
  return text.split(/[;&\n]/).filter((part) => SHOWS.has(part.trim().replace(` ${name}`, " …")))
    .length;
}

/** A longer text is not searched, so that many definitions take linear time. */
const SHOWN_MAX = 2_000;
const SHOWS = new Set([
  ...["declare -f …", "declare -F …", "declare -pf …", "declare -fp …", "typeset -f …"],
  ...["type …", "type -t …", "command -v …", "command -V …", "unset -f …", "unset …"],
]);

/** Whether the text that the caller gave says one of these words. */
export function mentionsAny({ inspection }: Scope, words: readonly string[]): boolean {
  const mentions = inspection.mentions ??= countWords(inspection.text);
  return words.some((word) => mentions.has(word));
}

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (let from = 0, at = 0; at <= text.length; at++) {
    if (IN_WORDS[text.charCodeAt(at)]) continue;
    if (at > from) {
      const word = text.slice(from, at);
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    from = at + 1;
  }
  return counts;
}

/** Whether words hold a character, by its code. A list of all matches of a pattern takes more memory than the text. */
const IN_WORDS: readonly boolean[] = Array.from(
  { length: 128 },
  (_, code) => /[\w-]/.test(String.fromCharCode(code)),
);

/** Sets a variable. */
export function assign({ values }: Scope, name: string, value: string): void {
  values.set(name, value);
}

/** Sets a variable for the programs that are started from here. */
export function give({ values }: Scope, name: string, value: string): void {
  values.set(name, value);
  values.export(name);
}

/** Makes a variable one of the function that runs. */
export function makeLocal({ locals, values }: Scope, name: string): void {
  if (locals !== null && !locals.has(name)) locals.set(name, values.keep(name));
}

/** The folder that the line has changed to; `.` where it has not. */
export function folderOf(scope: Scope): string {
  return scope.shell.folder;
}

/** The folder when it is one of two; UNKNOWN if they are too different to tell. */
export function eitherFolder(one: string, other: string): string {
  if (one === other) return one;
  const [first, second] = [normalizePath(one), normalizePath(other)];
  if (first === second) return one;
  // The starting folder stands for everything below it: losing it is the worst case.
  return isBelow(first) && isBelow(second) ? "." : UNKNOWN;
}

const isBelow = (folder: string) =>
  !["/", "~", "..", UNKNOWN].some((start) => folder.startsWith(start));

/** The standard input of a command; since `exec <file` it is that file. */
export function inputOf({ shell: { input } }: Scope, given: Flow | null): Flow | null {
  return input !== null && input.given === given ? input.flow : given;
}

/** Replaces what the shell reads: `exec <file`. */
export function replaceInput(scope: Scope, given: Flow | null, flow: Flow): void {
  const before = scope.conditional ? inputOf(scope, given) : null;
  const either = before === null ? flow : mergeFlows([before, known("\n"), flow]);
  scope.shell.input = { given, flow: either };
}

/** Whether anything is known of any file. */
export function hasFiles({ inspection: { files, earlier } }: Scope): boolean {
  return files.size > 0 || earlier.size > 0;
}

/** What the line wrote to a path; null for a file that it did not write. */
export function readFile(scope: Scope, path: string): Flow | null {
  const { files, earlier, recalled } = scope.inspection;
  if (!hasFiles(scope)) return null;
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
  if (!hasFiles(scope)) return null;
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
  const doubtful = scope.conditional || scope.shell.keepsFiles;
  const before = append || doubtful ? readFile(scope, path) : null;
  // A write that may not have happened leaves both contents to be judged.
  const parts = before === null ? [flow] : append ? [before, flow] : [before, known("\n"), flow];
  const key = fileKey(scope, path);
  files.set(key, parts.length === 1 ? flow : mergeFlows(parts));
  scope.inspection.fileNames.add(key);
}
