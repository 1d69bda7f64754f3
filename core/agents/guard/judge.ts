import type { AgentRecord } from "../../../kv/records/agent.ts";
import { users } from "../../../kv/records/user.ts";
import type { Work } from "../../work/work.ts";
import {
  asksForRoles,
  type Decision,
  judgeChain,
  PACK_OF,
  type Policy,
  type PolicyApprovals,
  type ShieldResult,
  type Who,
} from "../../shield/shield.ts";
import type { CommandParts } from "../commands/parts.ts";
import { cachedExamination } from "./examination_cache.ts";
import { modeFor, policiesFor, type ShieldInForce } from "./in_force.ts";

/** The binding verdict on a command. */
export interface Judgement {
  readonly result: ShieldResult;
  /** The approvals that a policy's rule requires; null when none does. */
  readonly approvals: PolicyApprovals | null;
  /** What decided, as GET /api/v1/gitops/policies or GET /api/v1/patterns names it. */
  readonly decidedBy: string;
  /** Days that a policy allows the command and its output to be kept; null without such a policy. */
  readonly retentionDays: number | null;
  /**
   * Remembers the command for the chains of its session: await it before the command is sent. Call the returned
   * function, if any, when the command has succeeded.
   */
  note(commandId: string): Promise<(() => void) | null>;
}

/** Judges a command by all layers, under the agent's mode and after the earlier commands of the session. */
export async function judgeForAgent(
  work: Work,
  { sessions, policyCache }: Pick<CommandParts, "sessions" | "policyCache">,
  command: string,
  { id, labels }: Pick<AgentRecord, "id" | "labels">,
  shield: ShieldInForce,
): Promise<Judgement> {
  const { actor, ports } = work;
  const merged = await policiesFor(policyCache, actor.tenant, shield, labels);
  const { policy, retentionDays } = merged;
  const who = await whoIs(work, policy);
  const session = await sessions.open(
    work.db,
    actor.tenant,
    `${actor.sessionId ?? actor.id} ${id}`,
  );
  const { decision, examination, steps } = judgeChain(
    command,
    cachedExamination(command),
    session.recall(),
    policy,
    { labels, who, atMs: ports.clock.now() },
  );
  const note = (commandId: string) => session.note(commandId, examination, steps);
  const { result, approvals } = decision;
  const decidedBy = deciderOf(decision, shield.policies);
  const mode = modeFor(shield, merged, id);
  if (mode === "enforce" || result.verdict === "allow") {
    return { result, approvals, decidedBy, retentionDays, note };
  }
  const explanation = `Not enforced (mode ${mode}, the verdict would be ${result.verdict}): ` +
    `${result.explanation}`;
  return {
    result: { ...result, verdict: "allow", explanation },
    approvals: null,
    decidedBy,
    retentionDays,
    note,
  };
}

/** An applied policy's id, `shield` for the organization's own policy, or the pack of the worst built-in rule. */
function deciderOf({ rule, result }: Decision, { items }: ShieldInForce["policies"]): string {
  if (rule === null) return PACK_OF.get(result.rule_ids[0] ?? "") ?? OWN_POLICY;
  return items.find(({ name }) => name === rule.policy)?.id ?? OWN_POLICY;
}

const OWN_POLICY = "shield";

/** The requester; roles are read only for a policy that names roles. */
function whoIs({ db, actor }: Work, policy: Policy | null): Who | Promise<Who> {
  const who = { userId: actor.userId, actorId: actor.id, roles: [] };
  return asksForRoles(policy) ? withRoles(who, db, actor) : who;
}

async function withRoles(who: Who, db: Work["db"], actor: Work["actor"]): Promise<Who> {
  const user = await db.get(users, { org: actor.tenant.org, space: "live" }, actor.userId);
  return { ...who, roles: user?.roles ?? [] };
}
