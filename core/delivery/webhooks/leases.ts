import { isImplausible } from "../../../kv/store/clock.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import {
  deliveries,
  deliveryLeases,
  type DeliveryRecord,
  type LeaseRecord,
} from "../../../kv/records/webhook.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { LEASE_MS, withAttempt } from "../jobs/job.ts";
import { batchOf, type DeliveryQueue, writeDelivery } from "./ledger.ts";

/** Leases that a sweep reads at once. */
const READ_MAX = 64;
/** Leases of one organization that are read to find what is under way. */
const UNDER_WAY_READ_MAX = 1_000;

/** A lease whose attempts run in this process. */
export interface Lease {
  readonly record: LeaseRecord;
  readonly tenant: Tenant;
  readonly versionstamp: string;
  /** Attempts that have not ended. */
  left: number;
}

/** A delivery that this process has claimed for an attempt. */
export interface Claim {
  readonly tenant: Tenant;
  /** The record before the claim, which applies again when the attempt is not made after all. */
  readonly before: DeliveryRecord;
  /** The claimed record: leased, with the attempt counted. */
  readonly delivery: DeliveryRecord;
  /** The versionstamp of the claimed record, so that it need not be read again. */
  readonly versionstamp: string;
  readonly lease: Lease;
}

/** A delivery whose next attempt starts with the commit that writes it. */
export const withAttemptStarted = (before: DeliveryRecord, nowMs: number): DeliveryRecord => ({
  ...before,
  ...withAttempt(before, nowMs),
  status: "sending",
  sent_at_ms: nowMs,
  leased: true,
});

/**
 * Grants one lease for all deliveries whose attempts start with this commit, and calls `start` with their claims
 * after it. One row in the queue stands for all of them, so a delivery costs no write but its own.
 */
export function grantLease(
  { ports }: Pick<Context, "ports">,
  tx: Tx,
  tenant: Tenant,
  started: readonly Pick<Claim, "before" | "delivery">[],
  start: (claims: readonly Claim[]) => void,
): void {
  if (started.length === 0) return;
  const record = tx.insert(deliveryLeases, tenant, {
    id: ports.entropy.id("lse"),
    ends_at_ms: ports.clock.now() + LEASE_MS,
    deliveries: started.map(({ delivery: { id, webhook_id, attempt } }) => ({
      id,
      webhook_id,
      attempt,
    })),
  });
  tx.afterCommit((versionstamp) => {
    const lease: Lease = { record, tenant, versionstamp, left: started.length };
    start(started.map((each) => ({ ...each, tenant, versionstamp, lease })));
  });
}

/** Removes a lease whose attempts have all ended. */
export async function endLease(store: Store, lease: Lease): Promise<void> {
  let known = true;
  await store.transact(async (tx) => {
    if (known) tx.seed(deliveryLeases, lease.tenant, lease.record, lease.versionstamp);
    known = false;
    tx.delete(deliveryLeases, lease.tenant, lease.record.id);
  });
}

/** The parts of the relay that reclaim leases. */
interface ReclaimParts extends Pick<Context, "store" | "ports"> {
  readonly queue: DeliveryQueue;
}

/** Makes the deliveries of expired leases due again. Returns when the next lease ends, or Infinity. */
export async function reclaimExpired(parts: ReclaimParts): Promise<number> {
  const { store, ports: { clock } } = parts;
  for (;;) {
    const { items } = await store.queued(deliveryLeases, "ends", { limit: READ_MAX });
    for (const { tenant, record } of items) {
      if (record.ends_at_ms > clock.now()) return record.ends_at_ms;
      while (await reclaimSome(parts, tenant, record.id));
    }
    if (items.length < READ_MAX) return Infinity;
  }
}

/**
 * Reclaims, at the start, leases that end implausibly late because the clock has jumped back since: no process works
 * on their deliveries any more.
 */
export async function reclaimImplausible(parts: ReclaimParts): Promise<void> {
  const { store, ports: { clock } } = parts;
  for (;;) {
    const last = { limit: READ_MAX, reverse: true };
    const { items } = await store.queued(deliveryLeases, "ends", last);
    const ahead = items.filter(({ record }) =>
      isImplausible(record.ends_at_ms, 2 * LEASE_MS, clock.now())
    );
    for (const { tenant, record } of ahead) while (await reclaimSome(parts, tenant, record.id));
    if (ahead.length < READ_MAX) return;
  }
}

/** Reclaims some deliveries in one commit; false when the lease has none left. */
async function reclaimSome(
  { store, ports, queue }: ReclaimParts,
  tenant: Tenant,
  id: string,
): Promise<boolean> {
  const now = ports.clock.now();
  return await store.transact(async (tx) => {
    const lease = await tx.get(deliveryLeases, tenant, id);
    if (lease === null) return false;
    const some = lease.deliveries.slice(0, batchOf(store));
    const rows = await Promise.all(some.map((each) => tx.get(deliveries, tenant, each.id)));
    rows.forEach((row, at) => {
      if (row === null || !row.leased || row.attempt !== some[at]!.attempt) return;
      writeDelivery(queue, tx, tenant, row, { ...row, leased: false, due_at_ms: now });
    });
    const left = lease.deliveries.slice(some.length);
    if (left.length === 0) tx.delete(deliveryLeases, tenant, id);
    else tx.put(deliveryLeases, tenant, { ...lease, deliveries: left });
    return left.length > 0;
  });
}

/** The ids of a webhook's deliveries whose attempts are under way. */
export async function underWayOf(
  store: Store,
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
