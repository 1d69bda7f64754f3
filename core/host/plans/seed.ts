import { SYSTEM } from "../../../kv/store/collection.ts";
import { plans } from "../../../kv/records/plan.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { App } from "../../work/work.ts";
import { BUILT_IN_PLANS, type Config, planOf } from "../../work/config.ts";

/** How the plans of the interface are called and what they offer, until the host says otherwise. */
const SHOWN = new Map([
  ["starter", { name: "Starter", features: ["100 requests per minute"] }],
  ["team", { name: "Team", features: ["500 requests per minute"] }],
  ["business", { name: "Business", features: ["2000 requests per minute"] }],
  ["enterprise", { name: "Enterprise", features: ["unlimited requests"] }],
]);

/**
 * Puts the plans on record that every installation begins with, and those that the configuration names.
 * A plan that the host has deleted does not come back: one of them is the default, which stays.
 */
export async function seedPlans({ store }: App, config: Config): Promise<void> {
  // In one commit: where one of them is, all of them were.
  await store.transact(async (tx) => {
    if (await tx.count(plans, SYSTEM) > 0) return;
    for (const id of Object.keys(BUILT_IN_PLANS)) await seedPlan(tx, config, id);
  });
  for (const id of new Set([...Object.keys(config.plans), config.default_plan])) {
    await store.transact((tx) => seedPlan(tx, config, id));
  }
}

async function seedPlan(tx: Tx, config: Config, id: string): Promise<void> {
  if (await tx.get(plans, SYSTEM, id) !== null) return;
  const { requests_per_minute } = planOf(config, id);
  const { name, features } = SHOWN.get(id) ?? { name: id, features: [] };
  const taken = await tx.find(plans, SYSTEM, "name", [name.toLowerCase()]) !== null;
  const now = tx.store.clock.now();
  tx.put(plans, SYSTEM, {
    id,
    name: taken ? `${name} (${id})` : name,
    price: 0,
    currency: "USD",
    features,
    requests_per_minute,
    created_at_ms: now,
    updated_at_ms: now,
  });
}
