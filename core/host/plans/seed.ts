import { SYSTEM } from "../../../kv/store/collection.ts";
import { plans } from "../../../kv/records/plan.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Store } from "../../../kv/store/store.ts";
import { BUILT_IN_PLANS, type Config, planOf } from "../../context/context.ts";

/** Names and features of the built-in plans, until the host changes them. */
const SHOWN = new Map([
  ["starter", { name: "Starter", features: ["100 requests per minute"] }],
  ["team", { name: "Team", features: ["500 requests per minute"] }],
  ["business", { name: "Business", features: ["2000 requests per minute"] }],
  ["enterprise", { name: "Enterprise", features: ["unlimited requests"] }],
]);

/**
 * Creates the built-in plans of a new installation and the plans that the configuration names. A built-in
 * plan that the host deleted is not created again.
 */
export async function seedPlans(store: Store, config: Config): Promise<void> {
  // One commit, so any existing plan proves that all of them were created.
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
