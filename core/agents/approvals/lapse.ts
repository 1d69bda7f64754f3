import type { Tenant } from "../../../kv/store/collection.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import { type ApprovalRecord, approvals } from "../../../kv/records/approval.ts";
import type { Context } from "../../context/context.ts";
import type { Background } from "../../ports/ports.ts";
import { resolveApproval } from "./resolve.ts";

const BATCH_MAX = 100;

type Recording = Pick<Context, "store" | "ports" | "signals">;

/** The parts that end many requests in the background. */
interface Lapsing extends Recording {
  readonly background: Background;
}

/** Ends expired requests. */
export async function lapseOverdue(context: Recording): Promise<void> {
  for (;;) {
    const before = [context.ports.clock.now() + 1];
    const due = await context.store.queued(approvals, "pending", { limit: BATCH_MAX, before });
    for (const { tenant, record } of due.items) {
      await lapse(
        context,
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
export function lapseOutdated(by: Lapsing, tenant: Tenant, version: string): void {
  const why = "the shield's settings have changed since";
  lapseAll(
    by,
    tenant,
    { index: "status", prefix: ["pending"] },
    why,
    (_, approval) => approval.policy_version !== version,
  );
}

/** Ends the requests for a deleted agent. */
export function lapseForAgent(by: Lapsing, tenant: Tenant, agentId: string): void {
  lapseAll(by, tenant, { index: "agent", prefix: [agentId] }, "the agent was deleted", () => true);
}

type Test = (nowMs: number, approval: ApprovalRecord) => boolean;

/** Runs after the commit. Requests that a crash leaves pending cannot be approved, and expire. */
function lapseAll(
  by: Lapsing,
  tenant: Tenant,
  where: { readonly index: string; readonly prefix: readonly string[] },
  why: string,
  test: Test,
): void {
  by.background.run("ending requests for approval", async () => {
    const all = everyListed(by.store, approvals, tenant, { ...where, limit: BATCH_MAX });
    for await (const { id } of all) await lapse(by, tenant, id, why, test);
  });
}

async function lapse(
  { store, ports, signals }: Recording,
  tenant: Tenant,
  id: string,
  reason: string,
  test: Test,
) {
  await store.transact(async (tx) => {
    const approval = await tx.get(approvals, tenant, id);
    const now = ports.clock.now();
    if (approval?.status !== "pending" || !test(now, approval)) return;
    const how = { status: "expired", reason, by: null } as const;
    await resolveApproval({ ports, signals }, tx, tenant, approval, how);
  });
}
