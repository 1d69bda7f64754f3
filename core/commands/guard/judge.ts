import type { AgentRecord } from "../../../kv/records/agent.ts";
import { users } from "../../../kv/records/user.ts";
import type { Work } from "../../work/work.ts";
import {
  asksForRoles,
  type Decision,
  judgeChain,
  type Pack,
  type Policy,
  type PolicyApprovals,
  RULES,
  type ShieldResult,
  type Who,
} from "../../shield/shield.ts";
import { examineAgain } from "./remember.ts";
import { modeFor, policiesFor, type ShieldInForce } from "./settings.ts";

/** The verdict that binds. */
export interface Judgement {
  readonly result: ShieldResult;
  /** Who must approve, where a policy's rule says so. */
  readonly approvals: PolicyApprovals | null;
  /** What decided, as GET /api/v1/gitops/policies or GET /api/v1/patterns names it. */
  readonly decidedBy: string;
  /** How long the command and its output may be kept, where a policy says so. */
  readonly retentionDays: number | null;
  /**
   * Remembers the command for the chains of its session; to be called when it is not refused. What it answers, unless
   * null, is to be called when the command has succeeded.
   */
  note(commandId: string): (() => void) | null;
}

/** What all layers find, under the mode of the agent and with what the caller's session did before. */
export async function judgeForAgent(
  work: Work,
  command: string,
  { id, labels }: Pick<AgentRecord, "id" | "labels">,
  shield: ShieldInForce,
): Promise<Judgement> {
  const { app, actor } = work;
  const merged = await policiesFor(app, actor.tenant, shield, labels);
  const { policy, retentionDays } = merged;
  const who = await whoIs(work, policy);
  const key = `${actor.tenant.org} ${actor.tenant.space} ${actor.sessionId ?? actor.id} ${id}`;
  const { decision, examination, steps } = judgeChain(
    command,
    examineAgain(command),
    app.sessions.recall(key),
    policy,
    { labels, who, atMs: app.ports.clock.now() },
  );
  const note = (commandId: string) => app.sessions.note(key, commandId, examination, steps);
  const { result, approvals } = decision;
  const decidedBy = deciderOf(decision, shield.policies);
  const mode = modeFor(shield, merged, id);
  if (mode === "enforce" || result.verdict === "allow") {
    return { result, approvals, decidedBy, retentionDays, note };
  }
  const explanation =
    `Not enforced (mode ${mode}, would be ${result.verdict}): ${result.explanation}`;
  return {
    result: { ...result, verdict: "allow", explanation },
    approvals: null,
    decidedBy,
    retentionDays,
    note,
  };
}

/** An applied policy's id, `shield` for the shield's own policy, or the built-in pack of the worst rule. */
function deciderOf({ rule, result }: Decision, { items }: ShieldInForce["policies"]): string {
  if (rule === null) return PACK_OF.get(result.rule_ids[0] ?? "") ?? OWN_POLICY;
  return items.find(({ name }) => name === rule.policy)?.id ?? OWN_POLICY;
}

const OWN_POLICY = "shield";
const PACK_OF: ReadonlyMap<string, Pack> = new Map(RULES.map(({ id, pack }) => [id, pack]));

/** Who asks; the roles are only looked up for a policy that speaks of them. */
function whoIs({ db, actor }: Work, policy: Policy | null): Who | Promise<Who> {
  const who = { userId: actor.userId, actorId: actor.id, roles: [] };
  return asksForRoles(policy) ? withRoles(who, db, actor) : who;
}

async function withRoles(who: Who, db: Work["db"], actor: Work["actor"]): Promise<Who> {
  const user = await db.get(users, { org: actor.tenant.org, space: "live" }, actor.userId);
  return { ...who, roles: user?.roles ?? [] };
}
