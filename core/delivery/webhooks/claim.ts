import type { Tenant } from "../../../kv/store/collection.ts";
import {
  attemptId,
  deliveries,
  deliveryAttempts,
  type DeliveryRecord,
} from "../../../kv/records/webhook.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { attemptOf } from "./attempt_record.ts";
import { isOrganizationActive } from "./checks.ts";
import { admitByKeyRate, type KeyRateParts } from "./key_rate.ts";
import { type Claim, grantLease, withAttemptStarted } from "./leases.ts";
import { ATTEMPTS_KEPT } from "./ledger.ts";
import { attemptAt, isDue } from "../jobs/retry_policy.ts";
import type { Receiver } from "./scheduler/receiver.ts";

/**
 * Claims up to `slots` due deliveries of a receiver: the lease and the counted attempt are durable before
 * anything is sent. Also returns when its next delivery is due.
 */
export async function claimDue(
  parts: KeyRateParts & Pick<Context, "ports">,
  receiver: Receiver,
  slots: number,
): Promise<{ claims: readonly Claim[]; nextMs: number }> {
  const { store, ports } = parts;
  const { tenant, webhookId } = receiver;
  const now = ports.clock.now();
  const { items } = await store.queued(deliveries, "due", {
    prefix: [webhookId],
    limit: slots + 1,
  });
  const due = items.slice(0, slots).filter(({ record }) => isDue(record.due_at_ms!, now));
  // The deliveries of an inactive organization stay due; a sweep finds them when it is active again.
  if (due.length > 0 && !await isOrganizationActive(store, tenant)) {
    return { claims: [], nextMs: Infinity };
  }
  const admitted = due.length === 0 ? 0 : await admitByKeyRate(parts, receiver, due.length);
  const some = due.slice(0, admitted);
  const next = items.find((each) => !some.includes(each));
  const nextMs = next === undefined ? Infinity : attemptAt(next.record.due_at_ms!, now);
  if (some.length === 0) return { claims: [], nextMs };
  let known = true, claims: readonly Claim[] = [];
  await store.transact(async (tx) => {
    claims = [];
    if (known) {
      some.forEach((each) => tx.seed(deliveries, tenant, each.record, each.versionstamp));
    }
    known = false;
    const rows = await Promise.all(some.map(({ record }) => tx.get(deliveries, tenant, record.id)));
    const taken = rows.flatMap((before) =>
      before === null || before.leased || before.due_at_ms === null ||
        !isDue(before.due_at_ms, now)
        ? []
        : [{ before, delivery: claim(tx, tenant, before, now) }]
    );
    grantLease(parts, tx, tenant, taken, (granted) => claims = granted);
  });
  return { claims, nextMs };
}

/** Counts the next attempt, and moves the outcome of the previous one to a row of its own. */
function claim(tx: Tx, tenant: Tenant, before: DeliveryRecord, now: number): DeliveryRecord {
  const { id, attempt } = before;
  const last = attemptOf(before);
  if (last !== null) tx.insert(deliveryAttempts, tenant, last);
  if (attempt > ATTEMPTS_KEPT) {
    tx.drop(deliveryAttempts, tenant, attemptId(id, attempt - ATTEMPTS_KEPT));
  }
  return tx.rewrite(deliveries, tenant, withAttemptStarted(before, now));
}
