import {
  type Blast,
  type Examples,
  type Irreversibility,
  once,
  type Pack,
  type Rule,
  rule,
  type SimpleCommand,
} from "../rule.ts";
import { type Call, READ_THROUGH, readingsOf } from "./readings.ts";

/** A rule about the calls of many tools. */
export interface Change {
  readonly id: `${Pack}.${string}`;
  readonly title: string;
  readonly threat?: string;
  readonly weight?: readonly [Blast, Irreversibility];
  readonly explanation: string;
  readonly safer: string;
  /**
   * One call a line: `gh|glab secret|variable set !--dry-run`. First the programs, then the words of the subcommand:
   * only options and their values may stand between them, except after `…`. Then the options that it needs
   * (`--push`, `-X=POST|PUT`), and, after `!`, the words and options that make it harmless. `…` in a word is any text, and
   * `*` is any word.
   */
  readonly calls: readonly string[];
  readonly hits: Examples;
  readonly misses: Examples;
}

type Test = (text: string) => boolean;

interface Pattern {
  readonly change: string;
  readonly steps: readonly Test[];
  /** Whether any words may stand between the steps. */
  readonly isLoose: boolean;
  readonly needs: readonly Option[];
  readonly bars: readonly Option[];
}

/** The patterns of a tool: all of them, and those for a line that begins with this word, or with any. */
interface Patterns {
  readonly all: Pattern[];
  readonly byStart: Map<string, Pattern[]>;
  readonly open: Pattern[];
}

/** Options, or words, of which one has to stand among the arguments, followed by one of the values. */
interface Option {
  readonly names: readonly string[];
  readonly isName: Test;
  readonly isValue: Test | null;
}

/** Makes the rules; a command raises the first of them that has a matching call. */
export function rulesOfCalls(changes: readonly Change[]): readonly Rule[] {
  let byTool: ReadonlyMap<string, Patterns> | null = null;
  const ask = (command: SimpleCommand) =>
    firstMatch(byTool ??= readCalls(changes), once(command, readingsOf), command.assignments);
  return changes.map(({ id, title, threat, weight, explanation, safer, calls, hits, misses }) =>
    rule({
      id,
      title,
      commands: [...new Set([...calls.flatMap(programsOf), ...READ_THROUGH])],
      when: { ask, answers: [id] },
      match: () => true,
      weight: weight ?? [3, 3],
      threat: threat ?? "production_change",
      explanation,
      safer,
      hits,
      misses,
    })
  );
}

const programsOf = (line: string): string[] => line.split(" ", 1)[0]!.split("|");

function readCalls(changes: readonly Change[]): ReadonlyMap<string, Patterns> {
  const byTool = new Map<string, Patterns>();
  for (const { id, calls } of changes) {
    for (const line of calls) addCall(byTool, id, line);
  }
  return byTool;
}

function addCall(byTool: Map<string, Patterns>, change: string, line: string): void {
  const words = line.split(" ").slice(1);
  const path = words.filter((word) => word !== "…" && !word.startsWith("-") && word[0] !== "!");
  const pattern = {
    change,
    steps: path.map(testOf),
    isLoose: words.includes("…"),
    needs: words.filter((word) => word.startsWith("-")).map(readOption),
    bars: words.filter((word) => word.startsWith("!")).map((word) => readOption(word.slice(1))),
  };
  const [first = "*"] = path;
  const isOpen = pattern.isLoose || first.includes("…") || first === "*";
  for (const tool of programsOf(line)) {
    const { all, byStart, open } = byTool.getOrInsertComputed(tool, newPatterns);
    all.push(pattern);
    if (isOpen) open.push(pattern);
    else {
      for (const word of first.split("|")) {
        byStart.getOrInsertComputed(word, () => []).push(pattern);
      }
    }
  }
}

const newPatterns = (): Patterns => ({ all: [], byStart: new Map(), open: [] });

function readOption(text: string): Option {
  const equals = text.startsWith("-") ? text.indexOf("=") : -1;
  const names = text.slice(0, equals < 0 ? undefined : equals);
  return {
    names: names.split("|"),
    isName: testOf(names),
    isValue: equals < 0 ? null : testOf(text.slice(equals + 1)),
  };
}

/** Whether a text is one of several, each of which may be open at its ends or inside. */
function testOf(pattern: string): Test {
  const exact = new Set<string>();
  const open: Test[] = [];
  for (const one of pattern.split("|")) {
    const parts = one.split("…");
    const [start = "", ...rest] = parts;
    const end = rest.pop() ?? "";
    if (one === "*") open.push(() => true);
    else if (parts.length === 1) exact.add(one);
    else {
      open.push((word) =>
        word.length >= start.length + end.length && word.startsWith(start) && word.endsWith(end) &&
        rest.every((part) => word.includes(part))
      );
    }
  }
  return (word) => exact.has(word) || open.some((test) => test(word));
}

function firstMatch(
  byTool: ReadonlyMap<string, Patterns>,
  readings: readonly Call[],
  assignments: ReadonlyMap<string, string>,
): string {
  if (isForTests(assignments)) return "";
  for (const call of readings) {
    const patterns = byTool.get(call.tool);
    if (patterns === undefined) continue;
    const found = candidatesFor(call, patterns).find((pattern) => fits(pattern, call.args));
    if (found !== undefined && !asksForHelp(call.args)) return found.change;
  }
  return "";
}

/** A line that is typed into a console has no options before its first word. */
function candidatesFor({ start }: Call, { all, byStart, open }: Patterns): readonly Pattern[] {
  if (start === undefined) return all;
  const fitting = byStart.get(start) ?? [];
  return open.length === 0 ? fitting : [...fitting, ...open];
}

/** `-h` with a value names a host. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  return own.includes("--help") || own.at(-1) === "-h" || own[0] === "help";
}

/** The variables by which frameworks choose a database, and their values for throw-away ones. */
const STAGES = ["RAILS_ENV", "RACK_ENV", "MIX_ENV", "APP_ENV", "NODE_ENV", "FLASK_ENV"];
const TESTS = new Set(["test", "testing"]);

export const isForTests = (assignments: ReadonlyMap<string, string>): boolean =>
  assignments.size > 0 && STAGES.some((name) => TESTS.has(assignments.get(name) ?? ""));

function fits({ steps, isLoose, needs, bars }: Pattern, args: readonly string[]): boolean {
  return follows(args, steps, isLoose) &&
    needs.every((option) => isGiven(option, args)) &&
    !bars.some((option) => isGiven(option, args));
}

/** Whether the steps stand among the arguments in their order. */
function follows(args: readonly string[], steps: readonly Test[], isLoose: boolean): boolean {
  let step = 0;
  let mayBeValue = false;
  for (const arg of args) {
    if (step === steps.length) return true;
    if (arg.startsWith("-") && arg.length > 1) {
      mayBeValue = arg !== "--" && !arg.includes("=");
    } else if (steps[step]!(arg.toLowerCase())) {
      step++;
      mayBeValue = false;
    } else if (mayBeValue || isLoose) {
      mayBeValue = false;
    } else return false;
  }
  return step === steps.length;
}

/** A contradiction (`--no-dry-run`, `--dry-run=false`) takes an option back. */
function isGiven({ names, isName, isValue }: Option, args: readonly string[]): boolean {
  let isFound = false;
  for (const [at, arg] of args.entries()) {
    if (arg === "--") break;
    const isOption = arg.startsWith("-");
    const equals = isOption ? arg.indexOf("=") : -1;
    const name = equals < 0 ? arg : arg.slice(0, equals);
    if (isOption && names.some((one) => name === `--no-${one.slice(2)}`)) return false;
    if (!isName(isOption ? name : arg.toLowerCase())) continue;
    const value = equals >= 0 ? arg.slice(equals + 1) : isValue === null ? "" : args[at + 1] ?? "";
    if (isValue === null ? OFF.has(value.toLowerCase()) : !isValue(value.toLowerCase())) {
      if (isValue === null) return false;
    } else isFound = true;
  }
  return isFound;
}

const OFF = new Set(["false", "no", "none", "0"]);
