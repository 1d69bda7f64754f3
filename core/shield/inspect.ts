import { BudgetSpent, fullBudget } from "./budget.ts";
import type { Finding } from "./command.ts";
import { MAX_COMMAND_BYTES, MAX_HEREDOCS, MAX_NESTING } from "./limits.ts";
import type { ShieldResult } from "./result.ts";
import { OVER_BUDGET, UNPARSEABLE } from "./rules/structure.ts";
import { type Inspection, outermost, report } from "./scope.ts";
import { judge, scoreFindings, scoreRule } from "./score.ts";
import { walkText } from "./walk.ts";

/** What is known about the place where the command would run. */
export interface ShieldContext {
  /** The agent's labels; `env=prod` raises scores. */
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * Judges a shell command without running it. Never throws, takes time linear in the command, and
 * never allows what it cannot read or finish reading.
 */
export function inspectCommand(command: string, context: ShieldContext = {}): ShieldResult {
  const inspection: Inspection = { budget: fullBudget(), findings: new Map(), files: new Map() };
  const scope = outermost(inspection);
  const whole = { start: 0, end: command.length };
  if (exceedsLimits(command)) {
    report(scope, OVER_BUDGET, whole);
  } else {
    if (command.includes("\0")) report(scope, UNPARSEABLE, whole);
    try {
      walkText(command.replaceAll("\0", " "), scope, null);
    } catch (error) {
      // A parser that overflows its stack has met a text that nobody can read either.
      const rule = error instanceof BudgetSpent || error instanceof RangeError
        ? OVER_BUDGET
        : UNPARSEABLE;
      report(scope, rule, whole);
    }
  }
  return conclude([...inspection.findings.values()], context.labels ?? {});
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
  let round = 0;
  let curly = 0;
  for (let i = 0; i < command.length; i++) {
    const c = command.charCodeAt(i);
    if (c === 0x28) round++;
    else if (c === 0x7b) curly++;
    else if (c === 0x29 && round > 0) round--;
    else if (c === 0x7d && curly > 0) curly--;
    if (round > MAX_NESTING || curly > MAX_NESTING) return true;
  }
  return false;
}

function conclude(
  findings: readonly Finding[],
  labels: Readonly<Record<string, string>>,
): ShieldResult {
  const score = scoreFindings(findings, labels);
  const sorted = findings.toSorted((a, b) => scoreRule(b.rule) - scoreRule(a.rule));
  const worst = sorted[0];
  const risks = { verdict: judge(score), risk_score: score };
  if (worst === undefined) {
    return {
      ...risks,
      threats: [],
      layer: "structure",
      rule_ids: [],
      explanation: "Nothing harmful was found.",
      safer_alternative: null,
      span: null,
    };
  }
  return {
    ...risks,
    threats: [...new Set(sorted.map(({ rule }) => rule.threat))],
    layer: worst.wrapped || worst.rule.commands?.length === 0 ? "structure" : "patterns",
    rule_ids: [...new Set(sorted.map(({ rule }) => rule.id))],
    explanation: worst.rule.explanation,
    safer_alternative: worst.rule.safer_alternative,
    span: { start: worst.span.start, end: worst.span.end },
  };
}
