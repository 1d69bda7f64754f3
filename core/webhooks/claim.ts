import type { Tenant } from "../../kv/store/collection.ts";
import {
  attemptId,
  deliveries,
  deliveryAttempts,
  type DeliveryRecord,
} from "../../kv/records/webhook.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { App } from "../work/work.ts";
import { attemptOf } from "./attempt.ts";
import type { Lane } from "./scheduler/scheduler.ts";
import { begun, type Lease, leaseOut } from "./leases.ts";
import { ATTEMPTS_KEPT } from "./ledger.ts";
import { rateOf } from "./key_rate.ts";
import { dueAt, isDue } from "./retry_policy.ts";
import { isOn } from "./checks.ts";

/** A delivery that was taken to be sent. */
export interface Claim {
  readonly tenant: Tenant;
  /** The record before, for an attempt that is not made after all. */
  readonly before: DeliveryRecord;
  /** The record now: leased, the attempt counted. */
  readonly delivery: DeliveryRecord;
  /** That of the record now, so that it need not be read again. */
  readonly versionstamp: string;
  readonly lease: Lease;
}

/**
 * Takes up to `room` due deliveries of a webhook: the lease and the counted attempt are durable before
 * anything is sent. Answers too when it has more.
 */
export async function claimDue(
  app: App,
  lane: Lane,
  room: number,
): Promise<{ claims: readonly Claim[]; nextMs: number }> {
  const { store, ports } = app;
  const { tenant, webhookId } = lane;
  const now = ports.clock.now();
  const { items } = await store.queued(deliveries, "due", {
    prefix: [webhookId],
    limit: room + 1,
  });
  const due = items.slice(0, room).filter(({ record }) => isDue(record.due_at_ms!, now));
  // What an organization has due while it is off stays so, for a sweep to find when it is on again.
  if (due.length > 0 && !await isOn(app, tenant)) return { claims: [], nextMs: Infinity };
  const admitted = due.length === 0 ? 0 : await rateOf(app, lane, due.length);
  const some = due.slice(0, admitted);
  const next = items.find((each) => !some.includes(each));
  const nextMs = next === undefined ? Infinity : dueAt(next.record.due_at_ms!, now);
  if (some.length === 0) return { claims: [], nextMs };
  let known = true, claims: readonly Claim[] = [];
  await store.transact(async (tx) => {
    claims = [];
    if (known) {
      some.forEach((each) => tx.know(deliveries, tenant, each.record, each.versionstamp));
    }
    known = false;
    const rows = await Promise.all(some.map(({ record }) => tx.get(deliveries, tenant, record.id)));
    const taken = rows.flatMap((before) =>
      before === null || before.leased || before.due_at_ms === null ||
        !isDue(before.due_at_ms, now)
        ? []
        : [{ before, delivery: claim(tx, tenant, before, now) }]
    );
    leaseOut(app, tx, tenant, taken, (begun) => claims = begun);
  });
  return { claims, nextMs };
}

/** Counts the next attempt and leases it; what the one before came to moves to its own row. */
function claim(tx: Tx, tenant: Tenant, before: DeliveryRecord, now: number): DeliveryRecord {
  const { id, attempt } = before;
  const last = attemptOf(before);
  if (last !== null) tx.insert(deliveryAttempts, tenant, last);
  if (attempt > ATTEMPTS_KEPT) {
    tx.drop(deliveryAttempts, tenant, attemptId(id, attempt - ATTEMPTS_KEPT));
  }
  return tx.rewrite(deliveries, tenant, begun(before, now));
}
