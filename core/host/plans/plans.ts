import { SYSTEM } from "../../../kv/store/collection.ts";
import { type PlanRecord, plans } from "../../../kv/records/plan.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { mustMatchRecord, type Work, type Writing } from "../../work/work.ts";
import { canonicalJson, iso } from "../../codec/codec.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { planLimit, UNLIMITED } from "../../access/access.ts";
import { listPage, pageOf, type Paging } from "../../../kv/store/paging.ts";
import { holdersOf } from "./subscribe.ts";

const PLANS_MAX = 100;

type Given = Pick<PlanRecord, "name" | "price" | "currency" | "features" | "requests_per_minute">;
type Change = { readonly [K in keyof Given]?: Given[K] | undefined };

/** Plans, oldest first. The host sees all of them, another organization its own. */
export async function listPlans(work: Work, paging: Paging) {
  const { db, actor } = work;
  if (actor.host) {
    const { items, pagination } = await listPage(db, plans, SYSTEM, paging);
    return { plans: await Promise.all(items.map((plan) => showPlan(work, plan))), pagination };
  }
  const organization = await db.get(organizations, SYSTEM, actor.tenant.org);
  const own = organization && await db.get(plans, SYSTEM, organization.plan);
  const { items, pagination } = pageOf(own === null ? [] : [await showPlan(work, own)], paging);
  return { plans: items, pagination };
}

/** Makes a plan. @throws {Fault} CONFLICT */
export async function createPlan(work: Writing, given: Given) {
  const { ports, tx } = work;
  if (await tx.count(plans, SYSTEM) >= PLANS_MAX) {
    throw new Fault("CONFLICT", `There are already ${PLANS_MAX} plans. Delete one first.`);
  }
  await mustBeFree(work, given.name);
  const now = ports.clock.now();
  const times = { created_at_ms: now, updated_at_ms: now };
  const id = ports.entropy.id("pln");
  return await showPlan(work, tx.put(plans, SYSTEM, { id, ...given, ...times }));
}

/**
 * Changes a plan. Limits apply from the next request of every account that has it, prices to subscriptions
 * that begin from now on.
 * @throws {Fault} NOT_FOUND, CONFLICT
 */
export async function updatePlan(
  work: Writing,
  id: string,
  { name, price, currency, features, requests_per_minute, ...others }: Change,
) {
  const { actor, tx } = work;
  const plan = await planOfId(work, id);
  const shown = await showPlan(work, plan);
  mustMatchRecord(others, shown);
  // The limit shown may come from the configuration instead of the plan.
  const sentBack = requests_per_minute === shown.requests_per_minute;
  const perMinute = requests_per_minute === UNLIMITED ? null : requests_per_minute;
  const given = {
    name,
    price,
    currency,
    features,
    requests_per_minute: sentBack ? undefined : perMinute,
  };
  const change: Change = Object.fromEntries(
    Object.entries(given).filter(([field, value]) =>
      value !== undefined && canonicalJson([value]) !== canonicalJson([plan[field as keyof Given]])
    ),
  );
  const changed = Object.keys(change).sort();
  if (changed.length === 0) return shown;
  const now = work.ports.clock.now();
  if (change.name !== undefined && change.name.toLowerCase() !== plan.name.toLowerCase()) {
    await mustBeFree(work, change.name);
  }
  if (change.requests_per_minute !== undefined && Object.hasOwn(work.config().plans, id)) {
    throw new Fault(
      "CONFLICT",
      `The configuration sets plans.${id}.requests_per_minute. Change it there and reload.`,
    );
  }
  const next = tx.put(plans, SYSTEM, { ...plan, ...change as Partial<Given>, updated_at_ms: now });
  emit(work, tx, actor.tenant, {
    type: "plan_updated",
    resource: { type: "plan", id },
    details: { changed },
  });
  return await showPlan(work, next);
}

/** Deletes a plan that no account has. @throws {Fault} NOT_FOUND, CONFLICT */
export async function deletePlan(work: Writing, id: string) {
  const { tx } = work;
  const plan = await planOfId(work, id);
  const accounts = await holdersOf(tx, id);
  if (accounts > 0) {
    const whose = accounts === 1 ? "1 account has" : `${accounts} accounts have`;
    throw new Fault("CONFLICT", `${whose} this plan. Give them another plan first.`, { accounts });
  }
  const { default_plan, plans: configured } = work.config();
  if (id === default_plan || Object.hasOwn(configured, id)) {
    throw new Fault("CONFLICT", "The configuration names this plan. Remove it there first.");
  }
  tx.delete(plans, SYSTEM, id);
  return plan;
}

async function planOfId({ tx }: Writing, id: string): Promise<PlanRecord> {
  const plan = await tx.get(plans, SYSTEM, id);
  if (plan === null) throw new Fault("NOT_FOUND", "There is no such plan.");
  return plan;
}

async function mustBeFree({ tx }: Writing, name: string): Promise<void> {
  if (await tx.find(plans, SYSTEM, "name", [name.toLowerCase()]) === null) return;
  throw new Fault(
    "CONFLICT",
    `There is already a plan named ${JSON.stringify(name)}. Choose another name.`,
  );
}

async function showPlan({ config, db, actor }: Work, plan: PlanRecord) {
  const inForce = { plan: plan.id, limits: null };
  const { limit, source } = planLimit(config(), inForce, plan.requests_per_minute);
  return {
    id: plan.id,
    name: plan.name,
    price: plan.price,
    currency: plan.currency,
    features: plan.features,
    requests_per_minute: limit ?? UNLIMITED,
    limit_source: source === "configuration" ? "configuration" as const : "plan" as const,
    // Only the host may know how many accounts have a plan.
    accounts: actor.host ? await holdersOf(db, plan.id) : null,
    created_at: iso(plan.created_at_ms),
    updated_at: iso(plan.updated_at_ms),
  };
}
