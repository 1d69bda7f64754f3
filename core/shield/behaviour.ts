import type { Finding, Flow, Rule, Verdict } from "./model.ts";
import { decide, type Decision, withoutSwitched } from "./decide.ts";
import { type Examination, examineCommand } from "./examine.ts";
import type { Policy } from "./policy/policy.ts";
import type { Circumstances } from "./policy/policy_context.ts";
import {
  DATA_LEAVES,
  DEFENSES_DOWN,
  RUNS_DOWNLOAD,
  RUNS_WRITTEN,
  SECRET_LEAVES,
} from "./packs/behaviour.ts";

/** What a session has done so far, as far as later commands may build on it. */
export interface Memory {
  readonly files: ReadonlyMap<string, Flow>;
  readonly defensesDown: string | null;
  /** Whether one of these files came over the network. */
  downloaded(paths: Iterable<string>): boolean;
  /** The commands that made these files, the oldest first. */
  stepsOf(paths: Iterable<string>): string[];
}

/** A command, judged with what its session did before. */
export interface Chained {
  readonly decision: Decision;
  /** Without findings of rules that decide nothing, so that later commands do not build on them. */
  readonly examination: Examination;
  /** The earlier commands that it builds on. */
  readonly steps: readonly string[];
}

const STRICTNESS: Readonly<Record<Verdict, number>> = { allow: 0, approve: 1, deny: 2 };

/** Judges whether a command completes a chain that earlier commands of its session began. */
export function judgeChain(
  command: string,
  alone: Examination,
  memory: Memory | null,
  policy: Policy | null,
  circumstances: Circumstances,
): Chained {
  const decision = decide(alone, policy, circumstances);
  const deciding = withoutSwitched(alone, policy);
  if (memory === null) return { decision, examination: deciding, steps: [] };
  const together = memory.files.size === 0 ? alone : examineCommand(command, memory.files);
  const examination = together === alone ? deciding : withoutSwitched(together, policy);
  const steps = memory.stepsOf(examination.recalled);
  const chains = chainsOf(deciding, examination, memory);
  if (chains.length === 0) return { decision, examination, steps };
  if (chains.includes(DEFENSES_DOWN) && memory.defensesDown !== null) {
    steps.unshift(memory.defensesDown);
  }
  const span = examination.findings[0]?.span ?? { start: 0, end: command.length };
  const raised = chains.map((rule): Finding => ({ rule, span, wrapped: false }));
  const findings = [...together.findings, ...raised];
  const chained = decide({ ...together, findings }, policy, circumstances);
  const stricter = STRICTNESS[chained.result.verdict] > STRICTNESS[decision.result.verdict];
  if (!stricter) return { decision, examination, steps };
  const ids = chains.map(({ id }) => id);
  const explanation = `${chains[0]?.explanation ?? ""} Earlier steps: ${steps.join(", ")}.`;
  const result = {
    ...chained.result,
    layer: "behaviour" as const,
    explanation,
    rule_ids: [...ids, ...chained.result.rule_ids.filter((id) => !ids.includes(id))],
  };
  return { decision: { ...chained, result }, examination, steps };
}

/** The chains that a command completes; the worst first. */
function chainsOf(alone: Examination, together: Examination, memory: Memory): Rule[] {
  const chains: Rule[] = [];
  const before = new Set(alone.findings.map(({ rule }) => rule));
  const fresh = together.findings.filter(({ rule }) => !before.has(rule)).map(({ rule }) => rule);
  if (together.recalled.size > 0 && fresh.length > 0) {
    const ids = new Set(fresh.map(({ id }) => id));
    if (ids.has("network.secret_leaves")) chains.push(SECRET_LEAVES);
    if (ids.has("network.data_leaves")) chains.push(DATA_LEAVES);
    const runs = fresh.some(({ id }) => !id.endsWith("_leaves"));
    if (runs) chains.push(memory.downloaded(together.recalled) ? RUNS_DOWNLOAD : RUNS_WRITTEN);
  }
  const uses = together.findings.some(({ rule }) => FOOTHOLDS.has(rule.threat));
  if (memory.defensesDown !== null && uses) chains.push(DEFENSES_DOWN);
  return chains;
}

/** Threats that make use of a protection that is down. */
const FOOTHOLDS: ReadonlySet<string> = new Set([
  "account_change",
  "credential_access",
  "credential_change",
  "data_exfiltration",
  "persistence",
  "privilege_escalation",
  "remote_access",
  "reverse_shell",
]);
