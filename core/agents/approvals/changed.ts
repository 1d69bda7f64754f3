import type { Tenant } from "../../../kv/store/collection.ts";
import type { AgentRecord } from "../../../kv/records/agent.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import type { ApprovalRecord, Decision } from "../../../kv/records/approval.ts";
import { telegramLinks } from "../../../kv/records/telegram.ts";
import { users } from "../../../kv/records/user.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import {
  hasSoleMember,
  homeOf,
  isUsable,
  personRights,
  rightsToGive,
} from "../../access/access.ts";
import type { Context } from "../../context/context.ts";
import { decide } from "../../shield/shield.ts";
import { type RequiredApprovals, requiredApprovals } from "./request.ts";
import { cachedExamination } from "../guard/examination_cache.ts";
import {
  modeFor,
  policiesFor,
  type PoliciesInForce,
  type ShieldInForce,
} from "../guard/in_force.ts";
import { isTrustedBot } from "../ingest/bot_makers.ts";
import { countedOf } from "./votes.ts";

/** The right to decide. */
const RIGHT = "approvals:write";

/** A request, and the approvals that it asks for. */
export type Asked =
  & Pick<ApprovalRecord, "command" | "requested_by" | "requested_user">
  & RequiredApprovals;

/**
 * Why a request for approval no longer holds; null when it does. Since it was made, its requester's rights and roles,
 * the agent's labels and the time of day may have changed.
 */
export async function changeSince(
  db: Reader,
  tenant: Tenant,
  policies: PoliciesInForce,
  { approval, agent: { id, labels }, shield, nowMs }: {
    readonly approval: Asked;
    readonly agent: AgentRecord;
    readonly shield: ShieldInForce;
    readonly nowMs: number;
  },
): Promise<string | null> {
  const { command, requested_by, requested_user } = approval;
  const keyId = requested_by === requested_user ? null : requested_by;
  const rights = await rightsToGive(db, tenant, { userId: requested_user, keyId }, nowMs);
  if (!rights.has("agents:write")) return "its requester may no longer run it";
  const merged = await policiesFor(policies, tenant, shield, labels);
  if (modeFor(shield, merged, id) !== "enforce") return null;
  const requester = await db.get(users, homeOf(tenant.org), requested_user);
  const who = { userId: requested_user, actorId: requested_by, roles: requester?.roles ?? [] };
  const { result, approvals } = decide(cachedExamination(command), merged.policy, {
    labels,
    who,
    atMs: nowMs,
  });
  if (result.verdict === "deny") return "the shield now denies it";
  if (result.verdict === "allow") return null;
  return isEnough(approval, requiredApprovals(shield, approvals))
    ? null
    : "it now needs more or other approvals";
}

/** Whether the approvals that a request asks for are at least as strict as those needed now. */
const isEnough = (asked: RequiredApprovals, needed: RequiredApprovals): boolean =>
  asked.required >= needed.required &&
  (needed.roles.length === 0 ||
    asked.roles.length > 0 && asked.roles.every((role) => needed.roles.includes(role)));

/** The approvals that count: each person's once, if the person and the credential may still approve. */
export async function validApprovals(
  context: Pick<Context, "store" | "ports">,
  db: Reader,
  tenant: Tenant,
  approval: ApprovalRecord,
): Promise<readonly Decision[]> {
  const { roles } = approval;
  const given = approval.decisions.filter(({ approve }) => approve);
  // Whoever confirmed their own request as the only member is no longer the only one after somebody joined.
  const confirmed = !approval.self_approval && given.some(({ self_approved }) => self_approved);
  const mayBeOwn = approval.self_approval || confirmed && await hasSoleMember(db, tenant.org);
  const valid: Decision[] = [];
  for (const decision of given) {
    if (decision.self_approved && !mayBeOwn) continue;
    const user = await db.get(users, homeOf(tenant.org), decision.user_id);
    const has = (await personRights(db, tenant.org, decision.user_id)).has(RIGHT);
    const fits = roles.length === 0 || roles.some((role) => user?.roles.includes(role));
    if (has && fits && await isTheirs(context, tenant, decision)) valid.push(decision);
  }
  return countedOf(approval, valid);
}

/**
 * Whether the key or the chat of a decision still belongs to its person. Read outside the transaction, because a
 * shared store limits its checks: a credential that ends at this moment ended after the decision.
 */
async function isTheirs(
  { store, ports }: Pick<Context, "store" | "ports">,
  tenant: Tenant,
  { user_id, actor }: Decision,
): Promise<boolean> {
  if (actor === user_id) return true;
  const key = await store.get(apiKeys, tenant, actor);
  if (key !== null) return isUsable(key, ports.clock.now()) && key.scopes.includes(RIGHT);
  const link = await store.get(telegramLinks, homeOf(tenant.org), actor);
  return link !== null && await isTrustedBot(store, tenant, link.token_id);
}
