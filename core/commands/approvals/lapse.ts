import type { Tenant } from "../../../kv/store/collection.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import { type ApprovalRecord, approvals } from "../../../kv/records/approval.ts";
import type { App } from "../../work/work.ts";
import { RELAY_ACTOR } from "../../events/events.ts";
import { resolveApproval } from "./resolve.ts";

const BATCH_MAX = 100;

/** Ends requests whose time is over. */
export async function lapseOverdue(app: App): Promise<void> {
  for (;;) {
    const before = [app.ports.clock.now() + 1];
    const due = await app.store.queued(approvals, "pending", { limit: BATCH_MAX, before });
    for (const { tenant, record } of due.items) {
      await lapse(
        app,
        tenant,
        record.id,
        "nobody decided in time",
        (now, { expires_at_ms }) => now >= expires_at_ms,
      );
    }
    if (due.items.length < BATCH_MAX) return;
  }
}

/** Ends requests that were made under other settings than those of `version`. */
export function lapseOutdated(app: App, tenant: Tenant, version: string): void {
  const why = "the shield's settings have changed since";
  lapseAll(
    app,
    tenant,
    { index: "status", prefix: ["pending"] },
    why,
    (_, approval) => approval.policy_version !== version,
  );
}

/** Ends the requests for an agent that is gone. */
export function lapseForAgent(app: App, tenant: Tenant, agentId: string): void {
  lapseAll(app, tenant, { index: "agent", prefix: [agentId] }, "the agent is gone", () => true);
}

type Test = (nowMs: number, approval: ApprovalRecord) => boolean;

/** After a commit that nobody undoes: what a crash leaves over cannot be approved, and its time runs out. */
function lapseAll(
  app: App,
  tenant: Tenant,
  where: { readonly index: string; readonly prefix: readonly string[] },
  why: string,
  test: Test,
): void {
  (async () => {
    const all = everyListed(app.store, approvals, tenant, { ...where, limit: BATCH_MAX });
    for await (const { id } of all) await lapse(app, tenant, id, why, test);
  })().catch((error) =>
    app.ports.log.error("requests for approval could not be ended", { error: String(error) })
  );
}

async function lapse(app: App, tenant: Tenant, id: string, reason: string, test: Test) {
  await app.store.transact(async (tx) => {
    const approval = await tx.get(approvals, tenant, id);
    const now = app.ports.clock.now();
    if (approval?.status !== "pending" || !test(now, approval)) return;
    const work = { ...app, app, actor: RELAY_ACTOR };
    await resolveApproval(work, tx, tenant, approval, { status: "expired", reason, by: null });
  });
}
