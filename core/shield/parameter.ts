import type { ParameterExpansionPart, ParameterOperation, Word } from "unbash";
import { UNKNOWN } from "./command.ts";
import type { Names } from "./names.ts";

/** What a variable is when the line does not set it; a home is written `~`. */
const DEFAULTS: ReadonlyMap<string, string> = new Map([
  ["HOME", "~"],
  ["TMPDIR", "/tmp"],
  ["TMP", "/tmp"],
  ["TEMP", "/tmp"],
  ["PWD", "."],
  ["OLDPWD", "."],
  ["IFS", " \t\n"],
  ["SHELL", "sh"],
  ["BASH", "bash"],
  ["0", "sh"],
  ["$", "1000"],
  ["BASHPID", "1000"],
  ["UID", "1000"],
]);

/** The variables and arguments that a word may refer to. */
export interface Variables {
  readonly values: Names<string>;
  readonly positional: readonly string[] | null;
}

/** A variable's value; undefined where nothing is known of it. */
export function lookUp(name: string, variables: Variables): string | undefined {
  const value = variables.values.get(name);
  if (value !== undefined) return value;
  const { positional } = variables;
  if (positional !== null) {
    if (name === "@" || name === "*") return positional.join(" ");
    if (name === "#") return String(positional.length);
    if (name >= "1" && name <= "9" && name.length === 1) return positional[Number(name) - 1] ?? "";
  }
  return DEFAULTS.get(name);
}

/** `${…}` with its operator; what the shell would compute from disk or patterns comes out as UNKNOWN. */
export function expandParameter(
  part: ParameterExpansionPart,
  variables: Variables,
  textOf: (word: Word) => string,
): string {
  const name = part.parameter;
  const plain =
    lookUp(part.index === undefined ? name : `${name}[${textOf(part.index)}]`, variables) ??
      (part.index === undefined ? undefined : lookUp(name, variables));
  if (part.prefix === "#") {
    return plain === undefined || plain.includes(UNKNOWN) ? UNKNOWN : String(plain.length);
  }
  const value = part.prefix === "!" && plain !== undefined ? lookUp(plain, variables) : plain;
  const operation = part.operation;
  if (operation === undefined) return value ?? UNKNOWN;
  if (operation.type === "Default") {
    const operand = textOf(operation.operand);
    if (operation.operator.endsWith("+")) return operand;
    if (operation.operator.endsWith("?")) return value ?? UNKNOWN;
    if (value !== undefined && (value !== "" || !operation.operator.startsWith(":"))) return value;
    if (operation.operator.endsWith("=")) variables.values.set(name, operand);
    return operand;
  }
  if (value === undefined || value.includes(UNKNOWN)) {
    // Their code runs all the same: `${x#$(…)}`.
    for (const word of wordsOf(operation)) textOf(word);
    return value ?? UNKNOWN;
  }
  if (operation.type === "Slice") {
    return slice(value, textOf(operation.offset), operation.length && textOf(operation.length));
  }
  if (operation.type === "CaseModification") {
    if (operation.operand !== undefined) textOf(operation.operand);
    const upper = operation.operator.startsWith("^");
    const all = operation.operator.length === 2;
    const head = all ? value : value.slice(0, 1);
    return (upper ? head.toUpperCase() : head.toLowerCase()) + (all ? "" : value.slice(1));
  }
  if (operation.type === "Replace") {
    const pattern = textOf(operation.pattern);
    const replacement = textOf(operation.replacement);
    if (pattern === "" || holdsPattern(pattern)) return UNKNOWN;
    if (operation.operator === "//") return value.split(pattern).join(replacement);
    const at = operation.operator === "/%" ? value.lastIndexOf(pattern) : value.indexOf(pattern);
    return at < 0 ? value : value.slice(0, at) + replacement + value.slice(at + pattern.length);
  }
  if (operation.type === "Remove") {
    const pattern = textOf(operation.operand);
    return holdsPattern(pattern)
      ? removePattern(value, pattern, operation.operator)
      : operation.operator.startsWith("#")
      ? (value.startsWith(pattern) ? value.slice(pattern.length) : value)
      : (value.endsWith(pattern) ? value.slice(0, value.length - pattern.length) : value);
  }
  if (operation.type !== "Transform") return UNKNOWN;
  textOf(operation.operand);
  return value;
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
  return text.includes("*") || text.includes("?") || text.includes("[") || text.includes(UNKNOWN);
}

/** `${x##*a}` and `${x%a*}` with one star; other patterns stay unknown. */
function removePattern(value: string, pattern: string, operator: string): string {
  const prefix = operator.startsWith("#");
  const literal = prefix && pattern.startsWith("*")
    ? pattern.slice(1)
    : !prefix && pattern.endsWith("*")
    ? pattern.slice(0, -1)
    : null;
  if (literal === null || literal === "" || holdsPattern(literal)) return UNKNOWN;
  const nearest = (operator.length === 1) === prefix;
  const at = nearest ? value.indexOf(literal) : value.lastIndexOf(literal);
  if (at < 0) return value;
  return prefix ? value.slice(at + literal.length) : value.slice(0, at);
}

function slice(value: string, offset: string, length: string | undefined): string {
  const from = Number(offset.trim());
  if (!Number.isInteger(from)) return UNKNOWN;
  const start = from < 0 ? Math.max(0, value.length + from) : from;
  if (length === undefined) return value.slice(start);
  const count = Number(length.trim());
  if (!Number.isInteger(count)) return UNKNOWN;
  return count < 0 ? value.slice(start, value.length + count) : value.slice(start, start + count);
}
