import type { Tenant } from "../../../kv/store/collection.ts";
import type { AgentRecord } from "../../../kv/records/agent.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import type { ApprovalRecord, Decision } from "../../../kv/records/approval.ts";
import { telegramLinks } from "../../../kv/records/telegram.ts";
import { users } from "../../../kv/records/user.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { isUsable } from "../../access/keys/show.ts";
import type { App } from "../../work/work.ts";
import { homeOf, personRights, rightsToGive } from "../../access/roles/grant.ts";
import { decide, examineCommand } from "../../shield/shield.ts";
import { type Needed, neededOf } from "./request.ts";
import { modeFor, policiesFor, type ShieldInForce } from "../guard/settings.ts";
import { isTrustedBot } from "../../integrations/telegram/links.ts";
import { countedOf } from "./votes.ts";

/** What it takes to decide. */
const RIGHT = "approvals:write";

/**
 * Why a command that waits does not hold by now; null when it holds as it is. Its asker may have no right to
 * run it any more, or other roles, the agent other labels, and the hour is another one.
 */
export async function changeSince(
  app: App,
  tx: Tx,
  tenant: Tenant,
  approval: ApprovalRecord,
  { id, labels }: AgentRecord,
  shield: ShieldInForce,
): Promise<string | null> {
  const { command, requested_by, requested_user } = approval;
  const keyId = requested_by === requested_user ? null : requested_by;
  const nowMs = app.ports.clock.now();
  const rights = await rightsToGive(tx, tenant, { userId: requested_user, keyId }, nowMs);
  if (!rights.has("agents:write")) return "who asked for it may not run it any more";
  const merged = await policiesFor(app, tenant, shield, labels);
  if (modeFor(shield, merged, id) !== "enforce") return null;
  const asker = await tx.get(users, homeOf(tenant.org), requested_user);
  const who = { userId: requested_user, actorId: requested_by, roles: asker?.roles ?? [] };
  const { result, approvals } = decide(examineCommand(command), merged.policy, {
    labels,
    who,
    atMs: nowMs,
  });
  if (result.verdict === "deny") return "the shield refuses it by now";
  if (result.verdict === "allow") return null;
  return isEnough(approval, neededOf(shield, approvals))
    ? null
    : "it needs more approvals, or others, by now";
}

/** Whether who may approve a request, and how many must, is as strict as what is needed. */
const isEnough = (asked: Needed, needed: Needed): boolean =>
  asked.required >= needed.required &&
  (needed.roles.length === 0 ||
    asked.roles.length > 0 && asked.roles.every((role) => needed.roles.includes(role)));

/**
 * What counts of the approvals: those whose giver may still give them, by what they gave them with, and
 * each person once.
 */
export async function validApprovals(
  app: App,
  tx: Tx,
  tenant: Tenant,
  approval: ApprovalRecord,
): Promise<readonly Decision[]> {
  const { decisions, roles } = approval;
  const valid: Decision[] = [];
  for (const decision of decisions.filter(({ approve }) => approve)) {
    const user = await tx.get(users, homeOf(tenant.org), decision.user_id);
    const has = (await personRights(tx, tenant.org, decision.user_id)).has(RIGHT);
    const fits = roles.length === 0 || roles.some((role) => user?.roles.includes(role));
    if (has && fits && await isTheirs(app, tenant, decision)) valid.push(decision);
  }
  return countedOf(approval, valid);
}

/**
 * Whether the key or the chat that somebody decided with is still theirs. Read beside the transaction, whose
 * checks a shared store limits: one that ends at this moment ended after the decision.
 */
async function isTheirs(
  app: App,
  tenant: Tenant,
  { user_id, actor }: Decision,
): Promise<boolean> {
  const { store, ports } = app;
  if (actor === user_id) return true;
  const key = await store.get(apiKeys, tenant, actor);
  if (key !== null) return isUsable(key, ports.clock.now()) && key.scopes.includes(RIGHT);
  const link = await store.get(telegramLinks, homeOf(tenant.org), actor);
  return link !== null && await isTrustedBot(app, tenant, link.token_id);
}
