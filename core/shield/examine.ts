import { BudgetSpent, fullBudget, workOf } from "./interpreter/budget.ts";
import type { Finding, Flow } from "./model.ts";
import { FileNames } from "./programs/file_names.ts";
import {
  MAX_COMMAND_BYTES,
  MAX_EXPANDED_CHARS,
  MAX_HEREDOCS,
  MAX_NESTING,
} from "./interpreter/limits.ts";
import type { Examined } from "./policy/policy_match.ts";
import { BUILDS_FETCHED, buildsFetched } from "./packs/network/fetched.ts";
import { OVER_BUDGET, UNPARSEABLE } from "./packs/structure.ts";
import { type Inspection, outermost, report } from "./interpreter/scope.ts";
import { WALKER } from "./interpreter/walk.ts";
import { walkLine } from "./interpreter/windows.ts";

/** What a command does by itself, before the policy, the caller and the agent are considered. */
export interface Examination {
  /** The command as given. */
  readonly line: string;
  readonly findings: readonly Finding[];
  /** Every simple command that was found, in any wrapper. */
  readonly commands: readonly Examined[];
  /** What the line writes to files, by normalized path. */
  readonly files: ReadonlyMap<string, Flow>;
  /** The files of earlier commands that it reads. */
  readonly recalled: ReadonlySet<string>;
  /** Characters that words, variables and substitutions grew to: about the memory that the result takes. */
  readonly expandedChars: number;
  /** The cost of the examination, as characters of ordinary script. */
  readonly work: number;
}

const NO_FILES: ReadonlyMap<string, Flow> = new Map();

/**
 * Reads a command without running it. Never throws, and takes time linear in the command. `earlier` is
 * what commands before it wrote to files.
 */
export function examineCommand(
  command: string,
  earlier: ReadonlyMap<string, Flow> = NO_FILES,
): Examination {
  const inspection: Inspection = {
    walker: WALKER,
    text: command,
    mentions: null,
    budget: fullBudget(),
    findings: new Map(),
    commands: [],
    files: new Map(),
    links: new Map(),
    parsed: new Map(),
    later: [],
    earlier,
    fileNames: new FileNames(earlier.keys()),
    recalled: new Set(),
  };
  const scope = outermost(inspection);
  const whole = { start: 0, end: command.length };
  if (exceedsLimits(command)) {
    report(scope, OVER_BUDGET, whole);
  } else {
    if (command.includes("\0")) report(scope, UNPARSEABLE, whole);
    try {
      walkLine(command.replaceAll("\0", " "), scope);
      for (const run of inspection.later) run();
    } catch (error) {
      // A parser that overflows its stack counts as a spent budget.
      const rule = error instanceof BudgetSpent || error instanceof RangeError
        ? OVER_BUDGET
        : UNPARSEABLE;
      report(scope, rule, whole);
    }
  }
  const { commands, files, recalled, budget } = inspection;
  const built = buildsFetched(commands);
  if (built !== null) report(scope, BUILDS_FETCHED, built);
  const expandedChars = MAX_EXPANDED_CHARS - budget.chars;
  const findings = [...inspection.findings.values()];
  const work = command.length + workOf(budget);
  return { line: command, findings, commands, files, recalled, expandedChars, work };
}

/** Bytes, here-documents and open brackets are counted before anything is parsed. */
function exceedsLimits(command: string): boolean {
  if (command.length > MAX_COMMAND_BYTES) return true;
  if (
    command.length * 3 > MAX_COMMAND_BYTES &&
    new TextEncoder().encode(command).length > MAX_COMMAND_BYTES
  ) return true;
  let heredocs = 0;
  for (let at = command.indexOf("<<"); at >= 0; at = command.indexOf("<<", at + 2)) heredocs++;
  return heredocs > MAX_HEREDOCS || nestsTooDeep(command);
}

/** Counts brackets without regard to quotes: an upper bound is enough, and cheap. */
function nestsTooDeep(command: string): boolean {
  return opensTooMany(command, "(", ")") || opensTooMany(command, "{", "}");
}

/** Jumps from bracket to bracket: looking at each character takes 85 % longer on long words. */
function opensTooMany(command: string, opening: string, closing: string): boolean {
  let depth = 0;
  let closed = command.indexOf(closing);
  for (let at = command.indexOf(opening); at >= 0; at = command.indexOf(opening, at + 1)) {
    while (closed >= 0 && closed < at) {
      if (depth > 0) depth--;
      closed = command.indexOf(closing, closed + 1);
    }
    if (++depth > MAX_NESTING) return true;
  }
  return false;
}
