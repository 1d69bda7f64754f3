import type { ParameterExpansionPart, ParameterOperation, Word } from "unbash";
import { perhaps, TEMPORARY_FOLDER, UNKNOWN } from "../model.ts";
import { quoteWord } from "./inner.ts";
import type { Values } from "./names.ts";

/** Values of variables that the line does not set; a home is written `~`. */
const DEFAULTS: ReadonlyMap<string, string> = new Map([
  ["HOME", "~"],
  ["TMPDIR", TEMPORARY_FOLDER],
  ["TMP", TEMPORARY_FOLDER],
  ["TEMP", TEMPORARY_FOLDER],
  ["PWD", "."],
  ["IFS", " \t\n"],
  ["SHELL", "sh"],
  ["BASH", "bash"],
  ["0", "sh"],
  ["$", "1000"],
  ["BASHPID", "1000"],
  ["UID", "1000"],
]);

/** The arguments of a script or function, which `set` and `shift` change. */
export interface Positional {
  /** Null where nothing is known of them. */
  words: readonly string[] | null;
  /** Whether the position of each is certain. */
  sure: boolean;
}

/** Arguments as a script or function is given them. */
export const argumentsOf = (words: readonly string[] | null): Positional => ({ words, sure: true });

/** The variables and arguments that a word may refer to. */
export interface Variables {
  readonly values: Values;
  readonly positional: Positional;
  /** Whether `${x+word}` expands to nothing when it is unknown if `x` is set; otherwise it is the word. */
  readonly leavesOut: boolean;
  /** Whether such a word occurred. */
  optional: boolean;
}

/** A variable's value; undefined where nothing is known of it. */
export function lookUp(
  name: string,
  variables: Pick<Variables, "values" | "positional">,
): string | undefined {
  const value = variables.values.get(name);
  if (value !== undefined) return value;
  const { words, sure } = variables.positional;
  if (words !== null) {
    if (name === "#") return sure ? String(words.length) : UNKNOWN;
    const one = name >= "1" && name <= "9~";
    if (one && sure) return words[Number(name) - 1] ?? "";
    if (one || name === "@" || name === "*") {
      const text = words.join(" ");
      return sure ? text : perhaps(text);
    }
  }
  return DEFAULTS.get(name);
}

/** The words of `$@` or `${name[@]}`; null for anything else, and for an unknown list. */
export function listOf(
  { parameter: name, index }: ParameterExpansionPart,
  variables: Variables,
): readonly string[] | null {
  if (name === "@" || name === "*") {
    const { words, sure } = variables.positional;
    return words === null || sure ? words : [UNKNOWN, ...words];
  }
  return index?.text === "@" || index?.text === "*" ? variables.values.list(name) : null;
}

/** An element of an array; a plain variable counts as an array of one element. */
function lookUpElement(name: string, index: string, variables: Variables): string | undefined {
  const words = variables.values.list(name);
  const value = lookUp(name, variables);
  if (value === undefined || index === "@" || index === "*") return value;
  const at = toInteger(index);
  if (words === null) return at === 0 ? value : perhaps(value);
  return at === null ? perhaps(value) : words.at(at) ?? "";
}

/** Null for what arithmetic would have to compute. */
function toInteger(text: string): number | null {
  return /^\s*(0|-?[1-9]\d{0,8})\s*$/.test(text) ? Number(text) : null;
}

/** `${…}` with its operator; UNKNOWN where the result depends on files or patterns. */
export function expandParameter(
  part: ParameterExpansionPart,
  variables: Variables,
  textOf: (word: Word) => string,
): string {
  const { parameter: name, index, prefix, operation } = part;
  const plain = index === undefined
    ? lookUp(name, variables)
    : lookUpElement(name, textOf(index), variables);
  if (prefix === "#") {
    return plain === undefined || plain.includes(UNKNOWN) ? UNKNOWN : String(plain.length);
  }
  const value = prefix === "!" && plain !== undefined ? lookUp(plain, variables) : plain;
  if (operation === undefined) return value ?? UNKNOWN;
  if (operation.type === "Default") {
    const operand = textOf(operation.operand);
    const chosen = chooseDefault(value, operation.operator, operand, variables);
    if (operation.operator.endsWith("=")) {
      const either = variables.values.isDoubtful(name) ? perhaps(`${chosen} ${operand}`) : chosen;
      variables.values.set(name, either);
    }
    return chosen;
  }
  if (value === undefined || value.includes(UNKNOWN)) {
    // The code in the operands runs in any case: `${x#$(…)}`.
    for (const word of wordsOf(operation)) textOf(word);
    return value ?? UNKNOWN;
  }
  return operate(value, operation, textOf);
}

/** The value or its substitute; both where the value may be empty or unset. */
function chooseDefault(
  value: string | undefined,
  operator: string,
  operand: string,
  variables: Variables,
): string {
  const empties = operator.startsWith(":");
  if (value === TEMPORARY_FOLDER) value = operator.endsWith("?") ? "/tmp" : undefined;
  if (operator.endsWith("?")) return value ?? UNKNOWN;
  if (operator.endsWith("+")) {
    if (value === "" && empties) return "";
    if (value !== undefined && !mayBeEmpty(value)) return operand;
    variables.optional = true;
    return variables.leavesOut ? "" : operand;
  }
  if (value === undefined || (value === "" && empties)) return operand;
  // An unset variable is remembered as an empty one.
  if (value === "") return perhaps(operand);
  return mayBeEmpty(value) ? `${value} ${operand}` : value;
}

/** Whether a value consists of markers only. */
function mayBeEmpty(value: string): boolean {
  for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) > 4) return false;
  return true;
}

/** A known value after one of the operators that change it. */
export function operate(
  value: string,
  operation: ParameterOperation,
  textOf: (word: Word) => string,
): string {
  switch (operation.type) {
    case "Slice": {
      const offset = textOf(operation.offset);
      const length = operation.length && textOf(operation.length);
      return sliceOf(value, offset, length) ?? perhaps(value);
    }
    case "CaseModification": {
      const { operator, operand } = operation;
      if (operand !== undefined) {
        textOf(operand);
        return perhaps(value);
      }
      const to = operator.startsWith("^") ? "toUpperCase" : "toLowerCase";
      return operator.length === 2 ? value[to]() : value.slice(0, 1)[to]() + value.slice(1);
    }
    case "Replace":
      return replace(
        value,
        textOf(operation.pattern),
        textOf(operation.replacement),
        operation.operator,
      );
    case "Remove": {
      const pattern = textOf(operation.operand);
      // What is quoted in a pattern stands for itself.
      if (holdsPattern(pattern) && /["'\\]/.test(operation.operand.text)) return perhaps(value);
      return holdsPattern(pattern)
        ? removePattern(value, pattern, operation.operator)
        : operation.operator.startsWith("#")
        ? (value.startsWith(pattern) ? value.slice(pattern.length) : value)
        : (value.endsWith(pattern) ? value.slice(0, value.length - pattern.length) : value);
    }
    case "Transform":
      return transform(value, textOf(operation.operand));
    default:
      return UNKNOWN;
  }
}

/** The code of `${x@P}` is walked elsewhere. */
function transform(value: string, letter: string): string {
  switch (letter) {
    case "Q":
      return quoteWord(value);
    case "U":
      return value.toUpperCase();
    case "u":
      return value.slice(0, 1).toUpperCase() + value.slice(1);
    case "L":
      return value.toLowerCase();
    default:
      return perhaps(value);
  }
}

function replace(value: string, pattern: string, replacement: string, operator: string): string {
  // Some shells put what was found in place of `&`.
  if (holdsPattern(pattern) || replacement.includes("&")) return perhaps(`${value} ${replacement}`);
  if (operator === "/#") {
    return value.startsWith(pattern) ? replacement + value.slice(pattern.length) : value;
  }
  if (operator === "/%") {
    if (!value.endsWith(pattern)) return value;
    return value.slice(0, value.length - pattern.length) + replacement;
  }
  if (pattern === "") return value;
  if (operator === "//") return value.split(pattern).join(replacement);
  const at = value.indexOf(pattern);
  return at < 0 ? value : value.slice(0, at) + replacement + value.slice(at + pattern.length);
}

function wordsOf(operation: ParameterOperation): Word[] {
  switch (operation.type) {
    case "Slice":
      return operation.length === undefined
        ? [operation.offset]
        : [operation.offset, operation.length];
    case "Replace":
      return [operation.pattern, operation.replacement];
    case "Remove":
    case "Transform":
      return [operation.operand];
    case "CaseModification":
      return operation.operand === undefined ? [] : [operation.operand];
    default:
      return [];
  }
}

function holdsPattern(text: string): boolean {
  return text.includes("*") || text.includes("?") || text.includes("[") || text.includes("(") ||
    text.includes(UNKNOWN);
}

/** `${x##*a}` and `${x%a*}` with one star; other patterns stay unknown. */
function removePattern(value: string, pattern: string, operator: string): string {
  const prefix = operator.startsWith("#");
  const literal = prefix && pattern.startsWith("*")
    ? pattern.slice(1)
    : !prefix && pattern.endsWith("*")
    ? pattern.slice(0, -1)
    : null;
  if (literal === null || literal === "" || holdsPattern(literal)) return perhaps(value);
  const nearest = (operator.length === 1) === prefix;
  const at = nearest ? value.indexOf(literal) : value.lastIndexOf(literal);
  if (at < 0) return value;
  return prefix ? value.slice(at + literal.length) : value.slice(0, at);
}

/** A part of a text or list; null where its bounds are not known. */
export function sliceOf<T extends string | readonly string[]>(
  whole: T,
  offset: string,
  length: string | undefined,
): T | null {
  const from = toInteger(offset);
  const count = length === undefined ? whole.length : toInteger(length);
  if (from === null || count === null) return null;
  const start = from < 0 ? Math.max(0, whole.length + from) : from;
  return whole.slice(start, count < 0 ? whole.length + count : start + count) as T;
}
