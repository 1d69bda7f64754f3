import type { App } from "../../work/work.ts";
import { isFirstWithin, notifyAdministrators } from "../people/notify.ts";
import { homeOf } from "../roles/grant.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Tells the administrators of organizations whose plan refused requests, at most once a day each. */
export async function tellOfPlanLimits(app: App): Promise<void> {
  for (const { tenant, limit } of app.limiter.takeRefusedByPlan()) {
    await app.store.transact(async (tx) => {
      const home = homeOf(tenant.org);
      if (!await isFirstWithin(app, tx, home, "plan_limit_reached", DAY_MS)) return;
      const resource = { type: "organization", id: tenant.org };
      const notice = { type: "plan_limit_reached", resource, details: { limit } } as const;
      await notifyAdministrators(app, tx, home, notice);
    });
  }
}
