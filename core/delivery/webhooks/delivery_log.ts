import { DAY_MS } from "../../../kv/store/durations.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import {
  attemptId,
  type AttemptRecord,
  deliveries,
  deliveryAttempts,
  type DeliveryRecord,
  stateOf,
} from "../../../kv/records/webhook.ts";
import { indexKeys, type Range } from "../../../kv/store/iterate.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Work, Writing } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import type { Paging } from "../../../kv/store/paging.ts";
import { isoOrNull } from "../../codec/codec.ts";
import { attemptOf } from "./attempt_record.ts";
import { type DeliveryQueue, keptAttempts, requeued, writeDelivery } from "./ledger.ts";
import { underWayOf } from "./leases.ts";
import type { UndeliveredKey } from "./undelivered_index.ts";
import { mustBeEnabled, ownedWebhook } from "./checks.ts";
import { showDelivery, showHeaders, showRequest } from "./show.ts";

/** The deliveries that a caller wants to see; times are creation times in ms. */
export interface LogFilter {
  readonly status?: DeliveryRecord["status"] | undefined;
  readonly event_type?: string | undefined;
  readonly held?: boolean | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Totals are exact up to here. */
const TOTAL_MAX = 10_000;
/** Keys that one answer reads; beyond that its total is a lower bound. */
const KEYS_MAX = 100_000;

/** Deliveries of a webhook that match, newest first. */
export async function listDeliveries(
  work: Work,
  id: string,
  filter: LogFilter,
  { limit, offset }: Paging,
) {
  const { actor: { tenant }, config, db, ports, store } = work;
  await ownedWebhook(work, id);
  const now = ports.clock.now();
  const oldestMs = now - config().retention_days.deliveries * DAY_MS + 1;
  const start = [Math.max(filter.since ?? 0, oldestMs)];
  const end = [filter.until ?? Number.MAX_SAFE_INTEGER];
  const range = { prefix: [id], start, end, reverse: true };
  const ids: string[] = [];
  let total = 0, seen = 0;
  if (start[0]! < end[0]!) {
    for await (const entry of entriesOf(store, tenant, id, filter, range)) {
      if (matches(entry, filter)) {
        if (total >= offset && ids.length < limit) ids.push(entry.id);
        total++;
      }
      if (total === TOTAL_MAX || ++seen === KEYS_MAX) break;
    }
  }
  const rows = await Promise.all(ids.map((each) => db.get(deliveries, tenant, each)));
  return {
    deliveries: rows.flatMap((each) => each === null ? [] : [showDelivery(each)]),
    pagination: { total, limit, offset, has_more: offset + ids.length < total },
  };
}

/** An index entry of a delivery: the fields that filters use. */
interface Entry {
  readonly id: string;
  readonly type: string;
  readonly status: DeliveryRecord["status"];
  readonly held: boolean;
}

/** The index entries of a webhook's deliveries, newest first; may include some that do not match the filter. */
async function* entriesOf(
  store: Store,
  tenant: Tenant,
  webhookId: string,
  filter: LogFilter,
  range: Range,
): AsyncGenerator<Entry> {
  const undelivered = indexKeys(store, deliveries, tenant, "undelivered", range);
  const ended = filter.status === "failed" || filter.status === "timed_out";
  if (ended || filter.held === true) {
    for await (const key of undelivered) yield entryOf(key as unknown as UndeliveredKey);
    return;
  }
  const plain = filter.status === undefined && filter.held === undefined;
  const underWay = plain ? new Set() : await underWayOf(store, tenant, webhookId);
  let next = plain ? undefined : (await undelivered.next()).value as UndeliveredKey | undefined;
  for await (const key of indexKeys(store, deliveries, tenant, "log", range)) {
    const [createdMs, seq, id, type] = key as unknown as LogKey;
    // Both indexes have the same order; entries that are in only one of them are skipped.
    while (next !== undefined && isBefore([createdMs, seq, id], next)) {
      next = (await undelivered.next()).value as UndeliveredKey | undefined;
    }
    if (next?.[2] === id) yield entryOf(next);
    else yield { id, type, status: underWay.has(id) ? "sending" : "succeeded", held: false };
  }
}

type LogKey = readonly [createdMs: number, seq: number, id: string, type: string];

const entryOf = ([, , id, status, state, type]: UndeliveredKey): Entry => ({
  id,
  type,
  status,
  held: state === "held",
});

/** True when the first entry is older than the second. */
function isBefore(
  [createdMs, seq, id]: readonly [number, number, string],
  [otherMs, otherSeq, otherId]: UndeliveredKey,
): boolean {
  if (createdMs !== otherMs) return createdMs < otherMs;
  return seq !== otherSeq ? seq < otherSeq : id < otherId;
}

function matches({ status, type, held }: Entry, filter: LogFilter): boolean {
  return (filter.status === undefined || filter.status === status) &&
    (filter.event_type === undefined || filter.event_type === type) &&
    (filter.held === undefined || filter.held === held);
}

/** One delivery with its request and its newest 50 attempts, oldest first. */
export async function getDelivery(work: Work, id: string, deliveryId: string) {
  const webhook = await ownedWebhook(work, id);
  const delivery = await ownedDelivery(work, id, deliveryId);
  const request = showRequest(work, webhook, delivery);
  const attempts = await attemptsOf(work.store, work.actor.tenant, delivery);
  return {
    ...showDelivery(delivery),
    request,
    attempts: attempts.map(({ startedMs, ...attempt }) => ({
      ...attempt,
      request_headers: request === null || startedMs === null
        ? null
        : showHeaders(work, webhook, delivery, startedMs),
    })),
  };
}

/** Sends a delivery again, with all attempts of the policy ahead. */
export async function resendDelivery(
  work: Writing,
  queue: DeliveryQueue,
  id: string,
  deliveryId: string,
) {
  const { actor, ports, tx } = work;
  const webhook = await ownedWebhook(work, id);
  const delivery = await ownedDelivery(work, id, deliveryId);
  mustBeEnabled(webhook);
  const { status } = delivery;
  if (stateOf(delivery) === "pending" && (status === "pending" || status === "sending")) {
    throw new Fault("CONFLICT", "The delivery is already in progress.");
  }
  const again = requeued(delivery, ports.clock.now());
  writeDelivery(queue, tx, actor.tenant, delivery, again);
  emit(work, tx, actor.tenant, {
    type: "webhook_delivery_resent",
    resource: { type: "webhook", id },
    details: { delivery_id: delivery.id, event_type: delivery.event_type, status },
  });
  return showDelivery(again);
}

/** The delivery of a webhook of the caller. @throws {Fault} NOT_FOUND */
async function ownedDelivery(work: Work, id: string, deliveryId: string): Promise<DeliveryRecord> {
  const delivery = await work.db.get(deliveries, work.actor.tenant, deliveryId);
  if (delivery !== null && delivery.webhook_id === id) return delivery;
  throw new Fault("NOT_FOUND", "There is no such delivery.");
}

async function attemptsOf(store: Store, tenant: Tenant, delivery: DeliveryRecord) {
  const numbers = keptAttempts(delivery.attempt);
  const kept = await Promise.all(
    numbers.map((n) => store.get(deliveryAttempts, tenant, attemptId(delivery.id, n))),
  );
  return numbers.flatMap((number, at) => {
    if (number === delivery.attempt && delivery.status === "sending") {
      return [showAttempt(number, { ...UNKNOWN, started_at_ms: delivery.sent_at_ms })];
    }
    const attempt = kept[at] ?? (number === delivery.attempt ? attemptOf(delivery) : null);
    return attempt === null ? [] : [showAttempt(number, attempt)];
  });
}

/** The fields of an attempt that is under way. */
const UNKNOWN = {
  status: "sending",
  http_status: null,
  response_time_ms: null,
  response_body: "",
  response_truncated: false,
  error: null,
} as const;

function showAttempt(
  number: number,
  attempt: Omit<AttemptRecord, "id" | "expires_at_ms" | "status"> & {
    readonly status: DeliveryRecord["status"];
  },
) {
  return {
    number,
    status: attempt.status,
    http_status: attempt.http_status,
    response_time_ms: attempt.response_time_ms,
    timing_ms: attempt.timing_ms ?? null,
    response_body: attempt.response_body,
    truncated: attempt.response_truncated,
    error: attempt.error,
    started_at: isoOrNull(attempt.started_at_ms),
    startedMs: attempt.started_at_ms,
  };
}
