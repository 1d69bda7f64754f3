import { SYSTEM } from "../../kv/collection.ts";
import { plans } from "../../kv/records/plan.ts";
import type { App } from "../app.ts";
import { BUILT_IN_PLANS, type Config } from "../config.ts";

/** How the plans of the interface are called and what they offer, until the host says otherwise. */
const SHOWN: Readonly<Record<string, { readonly name: string; readonly features: string[] }>> = {
  starter: { name: "Starter", features: ["100 requests per minute"] },
  team: { name: "Team", features: ["500 requests per minute"] },
  business: { name: "Business", features: ["2000 requests per minute"] },
  enterprise: { name: "Enterprise", features: ["unlimited requests"] },
};

/**
 * Puts the plans on record that every installation begins with, and those that the configuration names.
 * A plan that the host has deleted does not come back: one of them is the default, which stays.
 */
export async function seedPlans(app: App, config: Config): Promise<void> {
  const { store } = app;
  const first = await store.count(plans, SYSTEM) === 0;
  const named = { ...(first ? BUILT_IN_PLANS : {}), ...config.plans };
  const wanted = config.default_plan;
  const ids = new Set([...Object.keys(named), wanted]);
  for (const id of ids) {
    const { requests_per_minute } = named[id] ?? BUILT_IN_PLANS[id] ?? { requests_per_minute: 100 };
    await store.transact(async (tx) => {
      if (await tx.get(plans, SYSTEM, id) !== null) return;
      const { name, features } = SHOWN[id] ?? { name: id, features: [] };
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
