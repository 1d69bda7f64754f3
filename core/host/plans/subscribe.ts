import { SYSTEM } from "../../../kv/store/collection.ts";
import {
  planHolders,
  type PlanRecord,
  plans,
  type SubscriptionRecord,
  subscriptions,
} from "../../../kv/records/plan.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Ports } from "../../ports/ports.ts";
import { Fault } from "../../fault/fault.ts";

/**
 * Begins an account's subscription to a plan and ends its previous one.
 * @throws {Fault} VALIDATION_FAILED when there is no such plan
 */
export async function subscribe(
  { clock, entropy }: Pick<Ports, "clock" | "entropy">,
  tx: Tx,
  accountId: string,
  planId: string,
): Promise<{ plan: PlanRecord; subscription: SubscriptionRecord }> {
  const plan = await tx.get(plans, SYSTEM, planId);
  if (plan === null) {
    throw new Fault("VALIDATION_FAILED", `There is no plan ${planId}. See GET /api/admin/plans.`, {
      issues: [{ path: "body.plan_id", message: "is not the id of a plan" }],
    });
  }
  const now = clock.now();
  const before = await tx.find(subscriptions, SYSTEM, "active", [accountId]);
  if (before !== null) {
    tx.put(subscriptions, SYSTEM, { ...before, status: "ended", ended_at_ms: now });
    await changeHolders(tx, before.plan_id, -1);
  }
  await changeHolders(tx, planId, 1);
  const subscription = tx.put(subscriptions, SYSTEM, {
    id: entropy.id("sub"),
    account_id: accountId,
    plan_id: plan.id,
    plan_name: plan.name,
    price: plan.price,
    currency: plan.currency,
    status: "active",
    started_at_ms: now,
    ended_at_ms: null,
  });
  return { plan, subscription };
}

async function changeHolders(tx: Tx, id: string, n: number): Promise<void> {
  tx.put(planHolders, SYSTEM, { id, accounts: await holdersOf(tx, id) + n });
}

/** The number of accounts that have a plan now. */
export async function holdersOf(tx: Pick<Tx, "get">, id: string): Promise<number> {
  return (await tx.get(planHolders, SYSTEM, id))?.accounts ?? 0;
}
