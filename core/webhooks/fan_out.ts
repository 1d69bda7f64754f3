import type { Tenant } from "../../kv/store/collection.ts";
import type { Step } from "../../kv/log/follow.ts";
import type { Sequenced } from "../../kv/log/log.ts";
import { type DeliveryRecord, webhooks } from "../../kv/records/webhook.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { App } from "../work/work.ts";
import type { EventRow } from "../events/events.ts";
import type { Claim } from "./claim.ts";
import { isWebhookEvent } from "../events/types/webhook_events.ts";
import type { Lane } from "./scheduler/scheduler.ts";
import { begun } from "./leases.ts";
import { batchOf, writeDelivery } from "./ledger.ts";
import { mayReceive, WEBHOOKS_MAX } from "./checks.ts";

/** Webhooks are counted before they are made, so those of one instant may pass their limit together. */
export const WEBHOOKS_READ_MAX = 2 * WEBHOOKS_MAX;
/**
 * Deliveries that one commit of fan-out creates, each with 720 bytes of keys of the 80 KiB that an atomic
 * takes, and what they may weigh: the list of webhooks is read once for all of them.
 */
export const CREATED_MAX = 80;
const CREATED_BYTES_MAX = 500_000;
/** What a delivery weighs beside its event. */
const DELIVERY_BYTES = 2_500;
const DAY_MS = 24 * 60 * 60 * 1000;

/** What is sent: an event of the log, or a test. */
export interface Sendable {
  readonly id: string;
  readonly type: string;
  /** When it happened, ISO 8601. */
  readonly at: string;
  readonly agentId?: string | undefined;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Its number in the log; left out of tests, which say that they are one. */
  readonly seq?: number;
}

/** A delivery that begins with the commit that creates it. */
export interface Started extends Pick<Claim, "before" | "delivery"> {
  readonly lane: Lane;
}

/** Where attempts may begin. */
export interface Room {
  /** Reserves an attempt; null when the next delivery has to wait. */
  readonly reserve: (webhookId: string) => Lane | null;
  /** False when it is better to make the next delivery later than to let it wait in line. */
  readonly hasRoom: () => boolean;
  readonly started: Started[];
}

/** Puts a delivery on record; it is sent right after the commit. */
export const createDelivery = (
  app: App,
  tx: Tx,
  tenant: Tenant,
  webhookId: string,
  event: Sendable,
): DeliveryRecord =>
  writeDelivery(
    app,
    tx,
    tenant,
    null,
    newDelivery(app, webhookId, event, envelopeOf(tenant, event), false),
  );

/** What an event's deliveries send, but for their ids: what is before the id and what is behind it. */
type Envelope = readonly [string, string];

/** All deliveries of an event share it, since it is long. */
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
  app: App,
  webhookId: string,
  event: Sendable,
  envelope: Envelope,
  held: boolean,
): DeliveryRecord {
  const { clock, entropy } = app.ports;
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
    test: event.seq === undefined,
    status: "pending",
    held,
    attempt: 0,
    attempts_before: 0,
    http_status: null,
    response_time_ms: null,
    response_body: "",
    response_truncated: false,
    error: null,
    sent_at_ms: null,
    created_at_ms: now,
    leased: false,
    due_at_ms: held ? null : now,
    expires_at_ms: now + app.config().retention_days.deliveries * DAY_MS,
  };
}

/**
 * One delivery for each webhook that wants an event; long lists take several commits. What finds
 * room at once begins with the commit that creates it, and is added to `started`; the rest waits in line.
 */
export async function fanOut(
  app: App,
  tx: Tx,
  tenant: Tenant,
  events: readonly Sequenced[],
  part: string,
  { reserve, hasRoom, started }: Room,
): Promise<Step> {
  const items = await app.store.all(webhooks, tenant, WEBHOOKS_READ_MAX);
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
      };
      const envelope = envelopeOf(tenant, event);
      // The engine stores two bytes for each character when one of them is beyond Latin-1.
      const weight = 2 * json.length + DELIVERY_BYTES;
      for (const webhook of items.filter(({ id }) => id > lastId)) {
        if (!webhook.events.includes(type) || seq <= webhook.after_seq) continue;
        if (!await mayReceive(app, tenant, webhook, type)) continue;
        const full = made === CREATED_MAX || holding === batchOf(app.store) ||
          made > 0 && (bytes + weight > CREATED_BYTES_MAX || !hasRoom());
        if (full) return { done, part: lastId };
        const held = await isHolding(tx, tenant, webhook);
        if (held === null) continue;
        const before = newDelivery(app, webhook.id, event, envelope, held);
        // The rate of an API key is asked for when a delivery is taken from its line.
        const lane = held || webhook.created_by_key !== null ? null : reserve(webhook.id);
        const delivery = lane === null ? before : begun(before, app.ports.clock.now());
        writeDelivery(app, tx, tenant, null, delivery);
        if (lane !== null) started.push({ lane, before, delivery });
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
 * Whether the webhook holds what happens; null when it is gone. Holding depends on the record, so that
 * whoever enables it meanwhile finds the held one, or this is done again.
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
