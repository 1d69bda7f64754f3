import { SYSTEM } from "../../../kv/store/collection.ts";
import {
  planHolders,
  type PlanRecord,
  plans,
  type SubscriptionRecord,
  subscriptions,
} from "../../../kv/records/plan.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { App } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";

/**
 * Begins an account's subscription to a plan and ends the one that it had.
 * @throws {Fault} VALIDATION_FAILED when there is no such plan
 */
export async function subscribe(
  app: App,
  tx: Tx,
  accountId: string,
  planId: string,
): Promise<{ plan: PlanRecord; subscription: SubscriptionRecord }> {
  const plan = await tx.get(plans, SYSTEM, planId);
  if (plan === null) {
    throw new Fault("VALIDATION_FAILED", `There is no plan ${planId}. See GET /api/admin/plans.`, {
      issues: [{ path: "body.plan_id", message: "is the id of no plan" }],
    });
  }
  const now = app.ports.clock.now();
  const before = await tx.find(subscriptions, SYSTEM, "active", [accountId]);
  if (before !== null) {
    tx.put(subscriptions, SYSTEM, { ...before, status: "ended", ended_at_ms: now });
    await hold(tx, before.plan_id, -1);
  }
  await hold(tx, planId, 1);
  const subscription = tx.put(subscriptions, SYSTEM, {
    id: app.ports.entropy.id("sub"),
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

async function hold(tx: Tx, id: string, n: number): Promise<void> {
  tx.put(planHolders, SYSTEM, { id, accounts: await holdersOf(tx, id) + n });
}

/** How many accounts have a plan now. */
export async function holdersOf(tx: Pick<Tx, "get">, id: string): Promise<number> {
  return (await tx.get(planHolders, SYSTEM, id))?.accounts ?? 0;
}
