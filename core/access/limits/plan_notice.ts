import type { Context } from "../../context/context.ts";
import { isFirstWithin, notifyAdministrators } from "../people/notify.ts";
import { homeOf } from "../roles/grant.ts";
import type { Limiter } from "./limiter.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";

/** Notifies the administrators of organizations whose plan refused requests, at most once a day each. */
export async function notifyOfPlanLimits(
  context: Pick<Context, "store" | "ports" | "signals">,
  limiter: Pick<Limiter, "takeRefusedByPlan">,
): Promise<void> {
  for (const { tenant, limit } of limiter.takeRefusedByPlan()) {
    await context.store.transact(async (tx) => {
      const home = homeOf(tenant.org);
      if (!await isFirstWithin(context, tx, home, "plan_limit_reached", DAY_MS)) return;
      const resource = { type: "organization", id: tenant.org };
      const notice = { type: "plan_limit_reached", resource, details: { limit } } as const;
      await notifyAdministrators(context, tx, home, notice);
    });
  }
}
