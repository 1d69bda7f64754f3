import type { Tenant } from "../../kv/store/collection.ts";
import {
  deliveries,
  deliveryLeases,
  type DeliveryRecord,
  type LeaseRecord,
} from "../../kv/records/webhook.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { App } from "../work/work.ts";
import type { Claim } from "./claim.ts";
import { batchOf, writeDelivery } from "./ledger.ts";

/** Longer than one attempt's deadline of 10 s, so that a lease only ends when its process died. */
const LEASE_MS = 30_000;
/** Leases that a sweep looks at, at once. */
const READ_MAX = 64;
/** Leases of one organization that are looked through for what is under way. */
const UNDER_WAY_READ_MAX = 1_000;

/** A lease whose attempts are under way here. */
export interface Lease {
  readonly record: LeaseRecord;
  readonly tenant: Tenant;
  readonly versionstamp: string;
  /** Attempts that have not ended. */
  left: number;
}

/** A delivery whose next attempt begins with the commit that writes it. */
export const begun = (before: DeliveryRecord, nowMs: number): DeliveryRecord => ({
  ...before,
  status: "sending",
  attempt: before.attempt + 1,
  sent_at_ms: nowMs,
  leased: true,
  due_at_ms: nowMs + LEASE_MS,
});

/**
 * Puts a lease over deliveries that begin with this commit; `begin` is called after it with what to send.
 * One row and its place in the queue stand for all of them, so that a delivery costs nothing but its own.
 */
export function leaseOut(
  app: App,
  tx: Tx,
  tenant: Tenant,
  begun: readonly Pick<Claim, "before" | "delivery">[],
  begin: (claims: readonly Claim[]) => void,
): void {
  if (begun.length === 0) return;
  const record = tx.insert(deliveryLeases, tenant, {
    id: app.ports.entropy.id("lse"),
    ends_at_ms: app.ports.clock.now() + LEASE_MS,
    deliveries: begun.map(({ delivery: { id, webhook_id, attempt } }) => ({
      id,
      webhook_id,
      attempt,
    })),
  });
  tx.afterCommit((versionstamp) => {
    const lease: Lease = { record, tenant, versionstamp, left: begun.length };
    begin(begun.map((each) => ({ ...each, tenant, versionstamp, lease })));
  });
}

/** Removes a lease whose attempts have all ended. */
export async function endLease(app: App, lease: Lease): Promise<void> {
  let known = true;
  await app.store.transact(async (tx) => {
    if (known) tx.know(deliveryLeases, lease.tenant, lease.record, lease.versionstamp);
    known = false;
    tx.delete(deliveryLeases, lease.tenant, lease.record.id);
  });
}

/** Makes due again what processes that died have left under way; answers when the next lease ends. */
export async function takeBackLost(app: App): Promise<number> {
  const { store, ports: { clock } } = app;
  for (;;) {
    const { items } = await store.queued(deliveryLeases, "ends", { limit: READ_MAX });
    for (const { tenant, record } of items) {
      if (record.ends_at_ms > clock.now()) return record.ends_at_ms;
      while (await takeBackSome(app, tenant, record.id));
    }
    if (items.length < READ_MAX) return Infinity;
  }
}

/**
 * The same at the start, for what was begun by a clock that was far ahead and has been set right since: its lease ends
 * later than any that is begun now, and no process works on it any more.
 */
export async function takeBackAhead(app: App): Promise<void> {
  const { store, ports: { clock } } = app;
  for (;;) {
    const last = { limit: READ_MAX, reverse: true };
    const { items } = await store.queued(deliveryLeases, "ends", last);
    const ahead = items.filter(({ record }) => record.ends_at_ms > clock.now() + 2 * LEASE_MS);
    for (const { tenant, record } of ahead) while (await takeBackSome(app, tenant, record.id));
    if (ahead.length < READ_MAX) return;
  }
}

/** One commit; false when nothing of the lease is left. */
async function takeBackSome(app: App, tenant: Tenant, id: string): Promise<boolean> {
  const now = app.ports.clock.now();
  return await app.store.transact(async (tx) => {
    const lease = await tx.get(deliveryLeases, tenant, id);
    if (lease === null) return false;
    const some = lease.deliveries.slice(0, batchOf(app.store));
    const rows = await Promise.all(some.map((each) => tx.get(deliveries, tenant, each.id)));
    rows.forEach((row, at) => {
      if (row === null || !row.leased || row.attempt !== some[at]!.attempt) return;
      writeDelivery(app, tx, tenant, row, { ...row, leased: false, due_at_ms: now });
    });
    const left = lease.deliveries.slice(some.length);
    if (left.length === 0) tx.delete(deliveryLeases, tenant, id);
    else tx.put(deliveryLeases, tenant, { ...lease, deliveries: left });
    return left.length > 0;
  });
}

/** The ids of a webhook's deliveries that are under way. */
export async function underWayOf(
  { store }: App,
  tenant: Tenant,
  webhookId: string,
): Promise<Set<string>> {
  const leases = await store.list(deliveryLeases, tenant, { limit: UNDER_WAY_READ_MAX });
  const ids = leases.items.flatMap((lease) =>
    lease.deliveries.filter((each) => each.webhook_id === webhookId).map(({ id }) => id)
  );
  const rows = await Promise.all(ids.map((id) => store.get(deliveries, tenant, id)));
  return new Set(rows.flatMap((row) => row?.leased ? [row.id] : []));
}
