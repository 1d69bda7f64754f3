/**
 * The shield judges a shell command without running it. It promises four things: the same command under the same
 * policy and circumstances always has the same result; no function throws on any input; the time is linear in the
 * command, within the limits of `interpreter/limits.ts`; and a command that the shield cannot read, or cannot finish
 * reading, is never allowed unseen. It keeps no state and touches no clock, file or network: callers pass in the time,
 * the labels, the policy and what a session did before. README.md explains how a result comes about.
 *
 * This file is the shield's only entrance; everything else in the folder is private.
 */

export { judgeChain, type Memory } from "./behaviour.ts";
export {
  decide,
  type Decision,
  isEnabled,
  onlyWatches,
  type PolicyApprovals,
  type Switches,
  switchesRules,
} from "./decide.ts";
export { type Examination, examineCommand } from "./examine.ts";
export { inspectCommand, type ShieldContext } from "./inspect.ts";
export { comparingWork, fullBudget } from "./interpreter/budget.ts";
export {
  APPROVE_SCORE,
  DENY_SCORE,
  type Flow,
  HARMLESS,
  mergeFlows,
  NOTHING,
  type Pack,
  ShieldLayer,
  ShieldResult,
  UNKNOWN,
  Verdict,
} from "./model.ts";
export { PACK_OF, RULES } from "./packs/packs.ts";
export {
  checkPolicy,
  FIXED,
  Labels,
  PackName,
  PACKS,
  Policy,
  POLICY_FIELDS,
  type PolicyRule,
  RuleId,
  RuleName,
  Words,
} from "./policy/policy.ts";
export { asksForRoles, type Circumstances, type Who } from "./policy/policy_context.ts";
export { failedTests } from "./policy/policy_tests.ts";
export { scoreRule } from "./score.ts";
