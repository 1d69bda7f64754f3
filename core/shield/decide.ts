import { BudgetSpent, type Comparing, fullBudget } from "./interpreter/budget.ts";
import {
  APPROVE_SCORE,
  DENY_SCORE,
  type Finding,
  HARMLESS,
  type Rule,
  type ShieldResult,
  type Verdict,
} from "./model.ts";
import type { Examination } from "./examine.ts";
import type { Policy, PolicyRule } from "./policy/policy.ts";
import { type Circumstances, rulesThatHold } from "./policy/policy_context.ts";
import { matchesCommand, matchesLoose } from "./policy/policy_match.ts";
import { OVER_BUDGET, UNPARSEABLE } from "./packs/structure.ts";
import { judge, scoreFindings, scoreRule } from "./score.ts";

/** Who must approve, as a policy's rule says; the settings fill in what it leaves out. */
export type PolicyApprovals = NonNullable<PolicyRule["approvals"]>;

/** The verdict of all layers on a command. */
export interface Decision {
  readonly result: ShieldResult;
  readonly approvals: PolicyApprovals | null;
  /** The policy's rule that decided; null where none did. */
  readonly rule: PolicyRule | null;
}

/**
 * Puts the policy over what was found: a deny of either wins, an allow only over all commands. `comparing` is what
 * that may cost, and what is left of it afterwards.
 */
export function decide(
  examination: Examination,
  policy: Policy | null,
  circumstances: Circumstances,
  comparing?: Comparing,
): Decision {
  const deciding = withoutSwitched(examination, policy);
  const decision = decideBy(deciding, policy, circumstances, comparing);
  if (deciding === examination || !switchesRules(policy)) return decision;
  const watching = examination.findings.filter(({ rule }) =>
    onlyWatches(rule, policy) && isEnabled(rule, policy)
  );
  if (watching.length === 0) return decision;
  const watched = [...new Set(watching.map(({ rule }) => rule.id))];
  return { ...decision, result: { ...decision.result, watched } };
}

/** The examination without findings of rules that the policy disables or lets only watch. */
export function withoutSwitched(examination: Examination, policy: Policy | null): Examination {
  if (examination.findings.length === 0 || !switchesRules(policy)) return examination;
  const findings = examination.findings.filter(({ rule }) =>
    isEnabled(rule, policy) && !onlyWatches(rule, policy)
  );
  return findings.length === examination.findings.length
    ? examination
    : { ...examination, findings };
}

function decideBy(
  { line, findings, commands }: Examination,
  policy: Policy | null,
  circumstances: Circumstances,
  comparing?: Comparing,
): Decision {
  const { labels } = circumstances;
  const plain = judgeFindings(findings, labels, policy);
  if (policy === null || policy.rules.length === 0) {
    return { result: plain, approvals: null, rule: null };
  }
  const said = askInTime(
    policy,
    circumstances,
    { line, commands, findings },
    comparing ?? fullBudget(),
  );
  if (said === null) {
    const span = commands[0]?.command.span ?? { start: 0, end: 0 };
    const unread = [...findings, { rule: OVER_BUDGET, span, wrapped: false }];
    return { result: judgeFindings(unread, labels, policy), approvals: null, rule: null };
  }
  if (said.deny !== null) return byPolicy("deny", said.deny, plain);
  const lifted = said.allows === null ? [] : liftBy(said.allows, findings, policy);
  const left = lifted.length === 0
    ? plain
    : judgeFindings(findings.filter((one) => !lifted.includes(one)), labels, policy);
  if (left.verdict === "deny") return { result: left, approvals: null, rule: null };
  if (said.approve !== null) {
    const decision = byPolicy("approve", said.approve, left);
    return { ...decision, approvals: said.approve.rule.approvals ?? null };
  }
  const [first] = said.allows?.values() ?? [];
  if (first === undefined || lifted.length === 0 || left.verdict !== "allow") {
    return { result: left, approvals: null, rule: null };
  }
  return byPolicy("allow", first, { ...plain, span: plain.span });
}

/** What a policy says of built-in rules. */
export type Switches = Pick<
  Policy,
  "disabled_packs" | "disabled_rules" | "watched_packs" | "watched_rules"
>;

/** Whether the policy disables some of the built-in rules, or lets some only watch. */
export const switchesRules = (policy: Policy | null): policy is Policy =>
  (policy?.disabled_rules ?? policy?.disabled_packs ?? policy?.watched_rules ??
    policy?.watched_packs) !== undefined;

/** Whether a built-in rule is enabled; rules about unreadable commands always are. */
export function isEnabled(rule: Rule, { disabled_packs, disabled_rules }: Switches): boolean {
  if (rule === UNPARSEABLE || rule === OVER_BUDGET) return true;
  return !disabled_packs?.includes(rule.pack) && !disabled_rules?.includes(rule.id);
}

/** Whether a built-in rule is named in results and decides nothing. */
export function onlyWatches(rule: Rule, { watched_packs, watched_rules }: Switches): boolean {
  if (rule === UNPARSEABLE || rule === OVER_BUDGET) return false;
  return !!watched_packs?.includes(rule.pack) || !!watched_rules?.includes(rule.id);
}

interface Said {
  readonly rule: PolicyRule;
  readonly span: ShieldResult["span"];
}

interface PolicyAnswer {
  readonly deny: Said | null;
  readonly approve: Said | null;
  /** The allowing rule of each command; null when one command is not allowed. */
  readonly allows: ReadonlyMap<Examination["commands"][number] | null, Said> | null;
}

/** What the policy answers; null when the comparison with its rules exceeds the budget. */
function askInTime(
  policy: Policy,
  circumstances: Circumstances,
  { line, commands, findings }: Pick<Examination, "line" | "commands" | "findings">,
  comparing: Comparing,
): PolicyAnswer | null {
  try {
    const rules = rulesThatHold(policy, line, circumstances, comparing);
    return askPolicy(rules, commands, findings, comparing);
  } catch (error) {
    if (error instanceof BudgetSpent) return null;
    throw error;
  }
}

/** A matching deny wins wherever it stands in the policy; otherwise the first matching rule decides. */
function askPolicy(
  rules: readonly PolicyRule[],
  commands: Examination["commands"],
  findings: readonly Finding[],
  comparing: Comparing,
): PolicyAnswer {
  let approve: Said | null = null;
  const allows = new Map<Examination["commands"][number] | null, Said>();
  let all = true;
  for (const one of commands) {
    const matching = rules.filter((rule) => matchesCommand(rule, one, comparing));
    const deny = matching.find(({ verdict }) => verdict === "deny");
    const { span } = one.command;
    if (deny !== undefined) return { deny: { rule: deny, span }, approve: null, allows: null };
    const [first] = matching;
    if (first?.verdict === "allow") allows.set(one, { rule: first, span });
    else all = false;
    if (first?.verdict === "approve") approve ??= { rule: first, span };
  }
  const owned = new Set(commands.flatMap((one) => one.rules));
  const loose = findings.map(({ rule }) => rule).filter((rule) => !owned.has(rule));
  const matching = rules.filter((rule) => matchesLoose(rule, loose, comparing));
  const deny = matching.find(({ verdict }) => verdict === "deny");
  if (deny !== undefined) return { deny: { rule: deny, span: null }, approve, allows: null };
  const [first] = matching;
  if (first?.verdict === "approve") approve ??= { rule: first, span: null };
  if (first?.verdict === "allow") allows.set(null, { rule: first, span: null });
  return { deny: null, approve, allows: all && commands.length > 0 ? allows : null };
}

/** The findings that are lifted because every command is allowed. */
function liftBy(
  allows: NonNullable<PolicyAnswer["allows"]>,
  findings: readonly Finding[],
  policy: Policy,
): Finding[] {
  const unreadable = findings.some(({ rule }) => rule === UNPARSEABLE || rule === OVER_BUDGET);
  if (unreadable) return [];
  const denies = policy.thresholds?.deny ?? DENY_SCORE;
  return findings.filter(({ rule }) => {
    const owners = [...allows].filter(([one]) => one?.rules.includes(rule));
    const asked = owners.length > 0 ? owners.map(([, said]) => said) : [allows.get(null)];
    return asked.every((said) => said !== undefined && covers(said.rule, rule, denies));
  });
}

/**
 * An allowance covers what a program does. It covers a redirection, a variable, hidden code, or a refusal by
 * score only if it names the rule's id or pack.
 */
function covers({ match }: PolicyRule, rule: Rule, denies: number): boolean {
  if (match.rule_ids?.includes(rule.id) || match.packs?.includes(rule.pack)) return true;
  return (rule.commands?.length ?? 0) > 0 && rule.also === null && scoreRule(rule) < denies;
}

function byPolicy(verdict: Verdict, { rule, span }: Said, found: ShieldResult): Decision {
  const said = rule.description ?? ({
    allow: "it is allowed",
    approve: "somebody must approve it",
    deny: "it is forbidden",
  })[verdict];
  const result: ShieldResult = {
    ...found,
    verdict,
    layer: "policy",
    threats: found.threats.length > 0 || verdict === "allow" ? found.threats : ["policy"],
    rule_ids: [`policy.${rule.id}`, ...found.rule_ids],
    explanation: `By the policy's rule "${rule.id}": ${said}`,
    span,
  };
  return { result, approvals: null, rule };
}

/** What the patterns and the structure say, under the policy's thresholds. */
function judgeFindings(
  findings: readonly Finding[],
  labels: Circumstances["labels"],
  policy: Policy | null,
): ShieldResult {
  const { approve = APPROVE_SCORE, deny = DENY_SCORE } = policy?.thresholds ?? {};
  if (findings.length === 0) {
    const verdict = judge(0, { approve, deny });
    return verdict === "allow" ? HARMLESS : { ...HARMLESS, verdict };
  }
  const score = scoreFindings(findings, labels);
  const elsewhere = scoreFindings(findings, {});
  const sorted = findings.toSorted((a, b) => scoreRule(b.rule) - scoreRule(a.rule));
  const worst = sorted[0]!;
  const unreadable = findings.some(({ rule }) => rule === UNPARSEABLE || rule === OVER_BUDGET);
  const judged = judge(score, { approve, deny });
  // Explains why one agent refuses a command that another runs.
  const byLabels = judged === judge(elsewhere, { approve, deny })
    ? ""
    : ` The agent's labels raise its score from ${elsewhere} to ${score}.`;
  // An unreadable command is never allowed unseen, whatever the thresholds are.
  const risks = {
    verdict: unreadable && judged === "allow" ? "approve" as const : judged,
    risk_score: score,
  };
  return {
    ...risks,
    threats: [...new Set(sorted.map(({ rule }) => rule.threat))],
    layer: worst.wrapped || worst.rule.commands?.length === 0 ? "structure" : "patterns",
    rule_ids: [...new Set(sorted.map(({ rule }) => rule.id))],
    explanation: worst.rule.explanation + byLabels,
    safer_alternative: worst.rule.safer_alternative,
    span: { start: worst.span.start, end: worst.span.end },
  };
}
