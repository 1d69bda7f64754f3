import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import {
  attemptId,
  deliveries,
  DELIVERY_STATES,
  deliveryAttempts,
  type DeliveryRecord,
  DISCARDED,
  stateOf,
} from "../../../kv/records/webhook.ts";
import type { Store } from "../../../kv/store/store.ts";
import { addToTally, readTally } from "../../../kv/store/tally.ts";
import type { Tx } from "../../../kv/store/tx.ts";

const LEDGER = "webhook_deliveries";
/** Attempts of one delivery that are kept, however often it is sent again. */
export const ATTEMPTS_KEPT = 50;
/** Deliveries that one commit reads and changes: at most 40 KB each, and an atomic takes 819 KB. */
const BATCH_MAX = 16;
const BATCH_MAX_SHARED = 8; // a self-hosted denokv takes 10 checks

/** How many deliveries one commit may touch on this store. */
export const batchOf = ({ sole }: Pick<Store, "sole">): number =>
  sole ? BATCH_MAX : BATCH_MAX_SHARED;

/** The states in which deliveries are counted; `accepted` is the sum of the others. */
export const LEDGER_STATES = ["accepted", ...DELIVERY_STATES, "expired"] as const;
type LedgerState = (typeof LEDGER_STATES)[number];

/** How many deliveries are in each state, over all organizations. */
export async function readLedger(store: Store): Promise<Record<LedgerState, number>> {
  const figures = LEDGER_STATES.map(async (state) =>
    [state, await readTally(store, SYSTEM, LEDGER, state)] as const
  );
  return Object.fromEntries(await Promise.all(figures)) as Record<LedgerState, number>;
}

/** Schedules attempts of deliveries. */
export interface DeliveryQueue {
  /** Notes that the webhook has a delivery due at `dueMs`. Called after the commit that writes the delivery. */
  schedule(tenant: Tenant, webhookId: string, dueMs: number): void;
}

/** Writes a delivery and counts its change of state; with `before` null it is a new one. */
export function writeDelivery(
  queue: DeliveryQueue,
  tx: Tx,
  tenant: Tenant,
  before: DeliveryRecord | null,
  after: DeliveryRecord,
): DeliveryRecord {
  const { webhook_id, due_at_ms, leased } = after;
  if (due_at_ms !== null && !leased) {
    tx.afterCommit(() => queue.schedule(tenant, webhook_id, due_at_ms));
  }
  if (before === null) {
    count(tx, "accepted", 1);
    count(tx, stateOf(after), 1);
    return tx.insert(deliveries, tenant, after);
  }
  move(tx, stateOf(before), stateOf(after));
  return tx.rewrite(deliveries, tenant, after);
}

/** Removes a delivery and its attempts; one that had not ended is counted as `as` from then on. */
export function dropDelivery(
  tx: Tx,
  tenant: Tenant,
  record: DeliveryRecord,
  as: "discarded" | "expired",
): void {
  const state = stateOf(record);
  if (state === "pending" || state === "held") move(tx, state, as);
  for (const number of keptAttempts(record.attempt)) {
    tx.drop(deliveryAttempts, tenant, attemptId(record.id, number));
  }
  tx.delete(deliveries, tenant, record.id);
}

/** The numbers of a delivery's attempts that are kept, oldest first. */
export function keptAttempts(attempts: number): number[] {
  const first = Math.max(1, attempts - ATTEMPTS_KEPT + 1);
  return Array.from({ length: attempts - first + 1 }, (_, at) => first + at);
}

/** The delivery, due at `dueMs`, with all attempts of its policy again. */
export const requeued = (delivery: DeliveryRecord, dueMs: number): DeliveryRecord => ({
  ...delivery,
  status: "pending",
  held: false,
  attempts_before: delivery.attempt,
  due_at_ms: dueMs,
});

/** The delivery, discarded by its owner. */
export const discarded = (delivery: DeliveryRecord): DeliveryRecord => ({
  ...delivery,
  status: "failed",
  held: false,
  error: DISCARDED,
  due_at_ms: null,
});

function move(tx: Tx, from: LedgerState, to: LedgerState): void {
  if (from === to) return;
  count(tx, from, -1);
  count(tx, to, 1);
}

const count = (tx: Tx, state: LedgerState, n: number) => addToTally(tx, SYSTEM, LEDGER, state, n);
