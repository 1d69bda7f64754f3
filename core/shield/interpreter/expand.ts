import type {
  ArithmeticExpansionPart,
  BraceExpansionPart,
  CommandExpansionPart,
  ExtendedGlobPart,
  GlobPart,
  ParameterExpansionPart,
  ProcessSubstitutionPart,
  Word,
  WordPart,
} from "unbash";
import { expandBraces } from "./braces.ts";
import { UNKNOWN } from "../model.ts";
import { PARSE_FACTOR } from "./limits.ts";
import { parseShell } from "./parse.ts";
import { expandParameter, listOf, lookUp, operate, sliceOf, type Variables } from "./parameter.ts";

/** What expansion needs from the walk: variables, and a way to run the code in words. */
export interface Expansion extends Variables {
  /** Walks the code of `$(…)` and answers its output, UNKNOWN where that cannot be known. */
  substitute(part: CommandExpansionPart): string;
  /** Walks the code of `<(…)` and answers a path that stands for its output. */
  substituteProcess(part: ProcessSubstitutionPart): string;
  /** Walks the code inside `$((…))`. */
  compute(part: ArithmeticExpansionPart): void;
  /** Walks the code that arithmetic over this text runs. */
  evaluate(text: string): void;
  /** Counts work; throws when the budget is spent. */
  spend(chars: number): void;
  /** Notes that shells disagree about the end of a word, so that code may stand where the parser saw none. */
  doubt(part: WordPart): void;
}

/** Adds the words that a word expands to. A plain word needs no list: one for each takes 14 % on long argument lists. */
export function addWords(word: Word, expansion: Expansion, words: string[]): void {
  if (isBare(word.text)) {
    expansion.spend(word.text.length);
    words.push(word.text);
  } else words.push(...expandWord(word, expansion));
}

/** Characters without a meaning to the shell, by their code: with a pattern instead, scripts take 10 % longer. */
const IS_PLAIN: readonly boolean[] = Array.from(
  { length: 128 },
  (_, code) => /[\w\-./:,=%+@]/.test(String.fromCharCode(code)),
);

/** Whether a word is plain text, so that its parts need not be parsed. */
function isBare(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= IS_PLAIN.length || !IS_PLAIN[code]) return false;
  }
  return true;
}

/** The words that a word becomes: braces expanded, variables and substitutions filled in and split. */
export function expandWord(word: Word, expansion: Expansion): string[] {
  if (isBare(word.text)) {
    expansion.spend(word.text.length);
    return [word.text];
  }
  const parts = word.parts;
  if (parts === undefined) {
    expansion.spend(word.value.length);
    return [word.value];
  }
  for (const part of parts) {
    if (part.type !== "BraceExpansion") continue;
    const choices = expandBraces(word.text, part.pos - word.pos, part.end - word.pos);
    if (choices !== null) return choices.flatMap((raw) => expandRaw(raw, expansion));
  }
  const fields = new Fields();
  for (const part of parts) addPart(part, false, fields, expansion);
  const words = fields.finish();
  // Each further word costs a step, like a written one.
  for (let n = 1; n < words.length; n++) expansion.spend(0);
  return words;
}

/** The text of a word where the shell splits nothing: assignments, redirections, here-documents. */
export function expandText(word: Word, expansion: Expansion): string {
  if (isBare(word.text)) {
    expansion.spend(word.text.length);
    return word.text;
  }
  if (word.parts === undefined) {
    expansion.spend(word.value.length);
    return word.value;
  }
  return expandParts(word.parts, expansion);
}

/** The text of parts that the shell does not split. */
export function expandParts(parts: readonly WordPart[], expansion: Expansion): string {
  const fields = new Fields();
  for (const part of parts) addPart(part, true, fields, expansion);
  return fields.finish().join(" ");
}

function expandRaw(raw: string, expansion: Expansion): string[] {
  expansion.spend(PARSE_FACTOR * raw.length + 8);
  const node = parseShell(`: ${raw}`).commands[0]?.command;
  if (node === undefined || node.type !== "Command") return [raw];
  return node.args.flatMap((arg) => arg.type === "Word" ? expandWord(arg, expansion) : [arg.text]);
}

function addPart(part: WordPart, quoted: boolean, fields: Fields, expansion: Expansion): void {
  switch (part.type) {
    case "AnsiCQuoted":
      // A plain sh knows no `$'…'`: for it an escaped quote ends the word.
      if (part.text.slice(2, -1).includes("'")) expansion.doubt(part);
      // The shell ends `$'…'` at an encoded NUL; NUL means "unknown" here and must not be forged.
      expansion.spend(part.value.length);
      fields.add(part.value.split(UNKNOWN, 1)[0] ?? "", true);
      return;
    case "Literal":
    case "SingleQuoted":
      expansion.spend(part.value.length);
      fields.add(part.value, true);
      return;
    case "DoubleQuoted":
    case "LocaleString":
      if (!isNoWord(part.parts, expansion)) fields.add("", true);
      for (const child of part.parts) addPart(child, true, fields, expansion);
      return;
    case "SimpleExpansion":
      addVariable(part.text.slice(1), quoted, fields, expansion);
      return;
    case "ParameterExpansion": {
      if (quoted && endsEarlier(part)) expansion.doubt(part);
      expandReplacement(part, expansion);
      evaluateBounds(part, expansion);
      const list = listOf(part, expansion);
      if (list !== null && addList(list, part, quoted, fields, expansion)) return;
      const value = expandParameter(part, expansion, (word) => expandText(word, expansion));
      expansion.spend(value.length);
      addSplit(isPrompt(part) ? expandPrompt(value, expansion) : value, quoted, fields, expansion);
      return;
    }
    case "CommandExpansion":
      addSplit(expansion.substitute(part), quoted, fields, expansion);
      return;
    case "ProcessSubstitution":
      fields.add(expansion.substituteProcess(part), true);
      return;
    case "ArithmeticExpansion":
      expansion.compute(part);
      fields.add(computeInteger(part.text), true);
      return;
    case "Glob":
    case "ExtendedGlob":
    case "BraceExpansion":
      addPattern(part, quoted, fields, expansion);
  }
}

/** `"$@"` without arguments is no word at all, where any other quoted text is at least an empty one. */
function isNoWord(parts: readonly WordPart[], { positional: { words, sure } }: Expansion): boolean {
  return sure && words?.length === 0 && parts.length === 1 &&
    (parts[0]?.text === "$@" || parts[0]?.text === "${@}");
}

/** Keeps a pattern for the rules, and expands what stands between its brackets. */
function addPattern(
  { type, text, parts }: GlobPart | ExtendedGlobPart | BraceExpansionPart,
  quoted: boolean,
  fields: Fields,
  expansion: Expansion,
): void {
  expansion.spend(text.length);
  if (parts === undefined) return fields.add(text, true);
  fields.add(text.slice(0, type === "ExtendedGlob" ? 2 : 1), true);
  for (const part of parts) addPart(part, quoted, fields, expansion);
  fields.add(text.slice(-1), true);
}

/** Whether a `}` or `"` behind a single quote ends it for shells to which that quote means nothing there. */
function endsEarlier({ operation, text }: ParameterExpansionPart): boolean {
  const quote = operation?.type === "Default" ? text.indexOf("'") : -1;
  if (quote < 0) return false;
  const rest = text.slice(quote, -1);
  return rest.includes("}") || rest.includes('"');
}

/** Walks the code in `${x/$(…)/…}` by itself: the parser ends the pattern at a slash inside of it. */
function expandReplacement({ operation, text }: ParameterExpansionPart, expansion: Expansion) {
  if (operation?.type !== "Replace") return;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "`" || text.startsWith("$(", at)) expandRaw(text.slice(at), expansion);
  }
}

/** Subscripts and slices are arithmetic, and `${!x}` may name one. */
function evaluateBounds(
  { parameter, prefix, index, operation }: ParameterExpansionPart,
  expansion: Expansion,
): void {
  if (prefix === "!") expansion.evaluate(parameter);
  if (index !== undefined) expansion.evaluate(index.text);
  if (operation?.type !== "Slice") return;
  expansion.evaluate(operation.offset.text);
  if (operation.length !== undefined) expansion.evaluate(operation.length.text);
}

/** `${x@P}` expands what the value holds. */
function isPrompt({ operation }: ParameterExpansionPart): boolean {
  return operation?.type === "Transform" && operation.operand.text === "P";
}

function expandPrompt(value: string, expansion: Expansion): string {
  return expandRaw(`"${value.replaceAll('"', "")}"`, expansion).join(" ");
}

function addVariable(name: string, quoted: boolean, fields: Fields, expansion: Expansion): void {
  const { words, sure } = expansion.positional;
  if (name === "@" && words !== null) {
    addAll(sure ? words : [UNKNOWN, ...words], quoted, fields, expansion);
    return;
  }
  const value = lookUp(name, expansion) ?? UNKNOWN;
  expansion.spend(value.length);
  addSplit(value, quoted, fields, expansion);
}

/** Adds a value, split at white space and at the line's own IFS. */
function addSplit(value: string, quoted: boolean, fields: Fields, expansion: Expansion): void {
  let text = value;
  for (const separator of quoted ? "" : expansion.values.get("IFS") ?? "") {
    expansion.spend(text.length);
    if (separator !== UNKNOWN) text = text.replaceAll(separator, " ");
  }
  fields.add(text, quoted);
}

/** `"${words[@]}"`: every element is a word of its own. Answers whether that is all. */
function addList(
  list: readonly string[],
  { parameter, prefix, operation }: ParameterExpansionPart,
  quoted: boolean,
  fields: Fields,
  expansion: Expansion,
): boolean {
  const textOf = (word: Word) => expandText(word, expansion);
  let words: readonly string[] | null;
  if (prefix === "#") words = [list.includes(UNKNOWN) ? UNKNOWN : String(list.length)];
  else if (prefix !== undefined) words = [UNKNOWN];
  else if (operation === undefined) words = list;
  else if (operation.type === "Default") return false;
  else if (operation.type === "Slice") {
    const whole = parameter === "@" || parameter === "*" ? ["sh", ...list] : list;
    words = sliceOf(whole, textOf(operation.offset), operation.length && textOf(operation.length));
  } else words = list.map((word) => operate(word, operation, textOf));
  addAll(words ?? [UNKNOWN, ...list], quoted, fields, expansion);
  return true;
}

function addAll(
  words: readonly string[],
  quoted: boolean,
  fields: Fields,
  expansion: Expansion,
): void {
  for (const [i, word] of words.entries()) {
    if (i > 0) fields.cut();
    expansion.spend(word.length);
    fields.add(word, quoted);
  }
}

/** Evaluates `$((1))`, a number alone; any other expression is unknown. */
function computeInteger(text: string): string {
  const inner = text.startsWith("$((") ? text.slice(3, -2).trim() : "";
  const number = Number(inner);
  return inner !== "" && Number.isInteger(number) ? String(number) : UNKNOWN;
}

/** Collects text into words the way the shell does: unquoted expansions split at white space. */
class Fields {
  readonly #done: string[] = [];
  #open: string | null = null;

  add(text: string, quoted: boolean): void {
    if (quoted) {
      this.#open = (this.#open ?? "") + text;
      return;
    }
    let from = 0;
    for (let i = 0; i <= text.length; i++) {
      const c = text[i];
      if (c !== undefined && c !== " " && c !== "\t" && c !== "\n") continue;
      if (i > from) this.#open = (this.#open ?? "") + text.slice(from, i);
      if (c !== undefined) this.cut();
      from = i + 1;
    }
  }

  cut(): void {
    if (this.#open !== null) this.#done.push(this.#open);
    this.#open = null;
  }

  finish(): string[] {
    this.cut();
    return this.#done;
  }
}
