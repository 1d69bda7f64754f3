import { approvals } from "../../../kv/records/approval.ts";
import { commands, type FleetCommandRecord, type FleetStop } from "../../../kv/records/command.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { resolveApproval } from "../approvals/resolve.ts";
import { idsByStatus } from "./counts.ts";
import { type DriveParts, endUnsent } from "./parts.ts";
import { forEach } from "../at_once.ts";

/** The held commands of a fleet command. */
interface Held {
  /** Those that were approved and may take their turn. */
  readonly ready: readonly string[];
  /** True while others wait for a decision. */
  readonly waiting: boolean;
}

const heldIds = async ({ store }: DriveParts, tenant: Tenant, parentId: string) =>
  (await idsByStatus(store, tenant, parentId)).get("pending_approval") ?? [];

/** Releases or ends the held commands whose request was decided or has expired. */
export async function resolveHeld(
  parts: DriveParts,
  tenant: Tenant,
  fleet: FleetCommandRecord,
): Promise<Held> {
  const { ports, signals, store } = parts;
  const requests = await Promise.all(
    fleet.approvals.map((id) => store.get(approvals, tenant, id)),
  );
  const ready: string[] = [];
  /** The requests that hold a command back. */
  const holding = new Set<string>();
  await forEach(await heldIds(parts, tenant, fleet.id), async (id) => {
    const status = await store.transact(async (tx) => {
      const row = await tx.get(commands, tenant, id);
      if (row?.status !== "pending_approval") return null;
      const request = requests.find((request) => request?.id === row.approval_id);
      const { status, reason } = request ?? { status: "expired", reason: "its request is gone" };
      if (status === "pending") {
        holding.add(row.approval_id!);
        return status;
      }
      if (status === "approved") tx.put(commands, tenant, { ...row, status: "queued" });
      else {
        const finished_at_ms = ports.clock.now();
        tx.put(commands, tenant, { ...row, status, reason, finished_at_ms });
        const ended = { tenant, waitedMs: null, commandEnded: status };
        tx.afterCommit(() => signals.approvalResolved.send(ended));
      }
      return status;
    });
    if (status === "approved") ready.push(id);
  });
  const idle = requests.filter((request) => request !== null && !holding.has(request.id));
  for (const request of idle) await withdraw(parts, tenant, request!.id, null, CANCELLED);
  return { ready: ready.sort(), waiting: holding.size > 0 };
}

const CANCELLED = "its commands were cancelled";

/** Ends a request, if it is still open. */
async function withdraw(
  { ports, signals, store }: DriveParts,
  tenant: Tenant,
  id: string,
  by: string | null,
  reason: string,
): Promise<void> {
  const work = { ports, signals, ...by !== null && { actor: { id: by } } };
  await store.transact(async (tx) => {
    const approval = await tx.get(approvals, tenant, id);
    if (approval?.status !== "pending") return;
    const how = { status: "expired", reason, by: null, withdrawn: true } as const;
    await resolveApproval(work, tx, tenant, approval, how);
  });
}

/** Withdraws the requests of a stopped fleet command, and cancels its held commands. */
export async function withdrawHeld(
  parts: DriveParts,
  tenant: Tenant,
  fleet: FleetCommandRecord,
  { by, why }: Pick<FleetStop, "by"> & { readonly why: string },
): Promise<void> {
  for (const id of fleet.approvals) await withdraw(parts, tenant, id, by, why);
  const ending = { status: "cancelled", why, by } as const;
  await forEach(
    await heldIds(parts, tenant, fleet.id),
    (id) => endUnsent(parts, tenant, id, "pending_approval", ending),
  );
}
