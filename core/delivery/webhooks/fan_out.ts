import { DAY_MS } from "../../../kv/store/durations.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Step } from "../../../kv/log/follow.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import { type DeliveryRecord, webhooks } from "../../../kv/records/webhook.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { type EventRow, isWebhookEvent, traceparentOf } from "../../events/events.ts";
import { type Claim, withAttemptStarted } from "./leases.ts";
import type { Receiver } from "./scheduler/receiver.ts";
import { batchOf, type DeliveryQueue, writeDelivery } from "./ledger.ts";
import { mayReceive, WEBHOOKS_MAX } from "./checks.ts";

/** Concurrent requests may create webhooks beyond the limit, because the count is not checked at the commit. */
export const WEBHOOKS_READ_MAX = 2 * WEBHOOKS_MAX;
/**
 * The most deliveries that one commit of fan-out creates, and their maximum total size. Each has 720 bytes of keys,
 * of which an atomic takes 80 KiB. The list of webhooks is read once for all of them.
 */
export const CREATED_MAX = 80;
const CREATED_BYTES_MAX = 500_000;
/** The size of a delivery without its event. */
const DELIVERY_BYTES = 2_500;

/** An event of the log, or a test, as it is sent. */
export interface Sendable {
  readonly id: string;
  readonly type: string;
  /** When it happened, ISO 8601. */
  readonly at: string;
  readonly agentId?: string | undefined;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Its number in the log; absent for a test. */
  readonly seq?: number;
  readonly traceparent?: string | undefined;
}

/** A delivery whose first attempt starts with the commit that creates it. */
export interface Started extends Pick<Claim, "before" | "delivery"> {
  readonly receiver: Receiver;
}

/** The slots for attempts that fan-out may start at once. */
export interface Slots {
  /** Reserves an attempt; null when the next delivery has to wait for its turn. */
  readonly reserve: (webhookId: string) => Receiver | null;
  /** False when creating the next delivery later is cheaper than letting it wait for its turn. */
  readonly areFree: () => boolean;
  readonly started: Started[];
}

/** The parts of the relay that create deliveries. */
export interface FanOutParts extends Pick<Context, "store" | "ports" | "config"> {
  readonly queue: DeliveryQueue;
}

/** Creates a delivery, which is sent right after the commit. */
export const createDelivery = (
  parts: FanOutParts,
  tx: Tx,
  tenant: Tenant,
  webhookId: string,
  event: Sendable,
): DeliveryRecord =>
  writeDelivery(
    parts.queue,
    tx,
    tenant,
    null,
    newDelivery(parts, webhookId, event, envelopeOf(tenant, event), false),
  );

/** The body of an event's deliveries: the parts before and after the delivery's id. */
type Envelope = readonly [string, string];

/** The envelope of an event, which all of its deliveries share because it is long. */
function envelopeOf({ org }: Tenant, event: Sendable): Envelope {
  const before = JSON.stringify({
    event_id: event.id,
    event_type: event.type,
    timestamp: event.at,
    organization_id: org,
    ...(event.agentId !== undefined && { agent_id: event.agentId }),
  });
  const test = event.seq === undefined ? '"test":true,' : "";
  return [
    `${before.slice(0, -1)},"delivery_id":"`,
    `",${test}"payload":${JSON.stringify(event.payload)}}`,
  ];
}

/** A delivery that waits for its first attempt, or until its webhook is enabled. */
function newDelivery(
  { ports: { clock, entropy }, config }: FanOutParts,
  webhookId: string,
  event: Sendable,
  envelope: Envelope,
  held: boolean,
): DeliveryRecord {
  const id = entropy.id("dlv");
  const now = clock.now();
  return {
    id,
    webhook_id: webhookId,
    event_id: event.id,
    event_type: event.type,
    body: envelope.join(id),
    event_at: event.at,
    event_seq: event.seq ?? 0,
    ...(event.traceparent !== undefined && { traceparent: event.traceparent }),
    test: event.seq === undefined,
    status: "pending",
    held,
    attempt: 0,
    attempts_before: 0,
    http_status: null,
    response_time_ms: null,
    timing_ms: null,
    response_body: "",
    response_truncated: false,
    error: null,
    sent_at_ms: null,
    created_at_ms: now,
    leased: false,
    due_at_ms: held ? null : now,
    expires_at_ms: now + config().retention_days.deliveries * DAY_MS,
  };
}

/**
 * Creates one delivery for each webhook that subscribes to an event; long lists take several commits. A delivery
 * that gets a slot starts with the commit that creates it, and is added to `started`; the rest wait for their turn.
 */
export async function fanOut(
  parts: FanOutParts,
  tx: Tx,
  tenant: Tenant,
  events: readonly Sequenced[],
  part: string,
  { reserve, areFree, started }: Slots,
): Promise<Step> {
  const { store, ports, queue } = parts;
  const items = await store.all(webhooks, tenant, WEBHOOKS_READ_MAX);
  let made = 0, holding = 0, bytes = 0, done = 0, lastId = part;
  for (const { seq, type, json } of events) {
    if (isWebhookEvent(type)) {
      const row = JSON.parse(json) as EventRow;
      const event = {
        id: row.event_id,
        type,
        at: row.timestamp,
        agentId: row.agent_id,
        payload: row.details,
        seq,
        traceparent: traceparentOf(row),
      };
      const envelope = envelopeOf(tenant, event);
      // V8 serializes a text with two bytes a character when one of them is beyond Latin-1.
      const weight = 2 * json.length + DELIVERY_BYTES;
      for (const webhook of items.filter(({ id }) => id > lastId)) {
        if (!webhook.events.includes(type) || seq <= webhook.after_seq) continue;
        if (!await mayReceive(store, tenant, webhook, type)) continue;
        const full = made === CREATED_MAX || holding === batchOf(store) ||
          made > 0 && (bytes + weight > CREATED_BYTES_MAX || !areFree());
        if (full) return { done, part: lastId };
        const held = await isHolding(tx, tenant, webhook);
        if (held === null) continue;
        const before = newDelivery(parts, webhook.id, event, envelope, held);
        // A key's rate limit applies when a delivery is claimed, so deliveries of its webhooks wait for their turn.
        const receiver = held || webhook.created_by_key !== null ? null : reserve(webhook.id);
        const delivery = receiver === null ? before : withAttemptStarted(before, ports.clock.now());
        writeDelivery(queue, tx, tenant, null, delivery);
        if (receiver !== null) started.push({ receiver, before, delivery });
        made++;
        bytes += weight;
        if (held) holding++;
        lastId = webhook.id;
      }
    }
    lastId = "";
    done++;
  }
  return { done, part: "" };
}

/**
 * True when the webhook is disabled and holds its deliveries; null when it is gone. The read makes the commit
 * depend on the record: enabling the webhook meanwhile either finds the held delivery or reruns this.
 */
async function isHolding(
  tx: Tx,
  tenant: Tenant,
  { id, active }: { id: string; active: boolean },
): Promise<boolean | null> {
  if (active) return false;
  const webhook = await tx.get(webhooks, tenant, id);
  return webhook && !webhook.active;
}
