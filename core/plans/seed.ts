import { SYSTEM } from "../../kv/collection.ts";
import { plans } from "../../kv/records/plan.ts";
import type { App } from "../app.ts";
import { BUILT_IN_PLANS, type Config, planOf } from "../config.ts";

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
export async function seedPlans(app: App, config: Config): Promise<void> {
  const { store } = app;
  const first = await store.count(plans, SYSTEM) === 0;
  const named = { ...(first ? BUILT_IN_PLANS : {}), ...config.plans };
  for (const id of new Set([...Object.keys(named), config.default_plan])) {
    const { requests_per_minute } = planOf(config, id);
    await store.transact(async (tx) => {
      if (await tx.get(plans, SYSTEM, id) !== null) return;
      const { name, features } = SHOWN.get(id) ?? { name: id, features: [] };
      const taken = await tx.find(plans, SYSTEM, "name", [name.toLowerCase()]) !== null;
      const now = app.ports.clock.now();
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
    });
  }
}
