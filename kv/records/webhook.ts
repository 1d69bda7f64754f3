import { z } from "zod";
import { collection } from "../store/collection.ts";
import { madeWith, Sealed, StoredCreatedWith } from "./fields.ts";
import { Standing } from "./standing.ts";

/** A subscription of an outside address to events. */
export const WebhookRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  active: z.boolean(),
  events: z.array(z.string()),
  sealed_secret: Sealed,
  sealed_headers: Sealed,
  /** The secret before the last change; it signs beside the new one until that instant. */
  sealed_previous_secret: Sealed.nullable(),
  previous_ends_at_ms: z.number().nullable(),
  retry_policy: z.record(z.string(), z.union([z.number(), z.boolean()])),
  /** The user whose present rights bound what it receives. */
  created_by: z.string(),
  /** The API key that made it, whose type bounds its rate; null when a user did. */
  created_by_key: z.string().nullable(),
  /** The credential that it was made with. */
  created_with: StoredCreatedWith,
  standing: Standing,
  /** What lets its held deliveries go since it was enabled last. */
  release_id: z.string().nullable(),
  created_at_ms: z.number(),
  /** The last event of the log before it was made: it gets those behind. Clocks differ, and jump. */
  after_seq: z.int().default(0), // not there in webhooks of earlier versions
});
export type WebhookRecord = z.infer<typeof WebhookRecord>;

/** Webhooks of earlier versions know their key alone. */
const makerOf = ({ created_with, created_by_key: id }: WebhookRecord) =>
  created_with ?? (id === null ? null : { kind: "api_key" as const, id });

export const webhooks = collection({
  name: "webhooks",
  schema: WebhookRecord,
  index: {
    made_with: (webhook) => madeWith(makerOf(webhook)),
  },
  queue: { all: () => [] },
  counted: true,
  cached: 5_000,
});

export const DELIVERY_STATUSES = [
  "pending",
  "sending",
  "succeeded",
  "failed",
  "timed_out",
] as const;

/** One event on its way to one webhook. It is its own job: due, leased, attempted, settled. */
export const DeliveryRecord = z.strictObject({
  id: z.string(),
  webhook_id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  /** The envelope as it is sent and signed, byte for byte. */
  body: z.string(),
  event_at: z.string(),
  /** The event's number in the log: the order in which held ones go out. Zero for a test. */
  event_seq: z.int(),
  /** Sent because somebody asked for a test, whatever the webhook's state. */
  test: z.boolean(),
  status: z.enum(DELIVERY_STATUSES),
  /** True while it waits for its webhook to be enabled. */
  held: z.boolean(),
  /** Attempts begun; counted at the claim, so that a crash cannot make more of them than the policy says. */
  attempt: z.int(),
  /** Those of earlier rounds: the policy counts from here. */
  attempts_before: z.int(),
  http_status: z.int().nullable(),
  response_time_ms: z.number().nullable(),
  response_body: z.string(),
  response_truncated: z.boolean(),
  error: z.string().nullable(),
  sent_at_ms: z.number().nullable(),
  created_at_ms: z.number(),
  /** True while an attempt is under way: a lease names it then, and no index beside the log. */
  leased: z.boolean(),
  /** When it is due, or when its lease ends; null when nothing more happens by itself. */
  due_at_ms: z.number().nullable(),
  expires_at_ms: z.number(),
});
export type DeliveryRecord = z.infer<typeof DeliveryRecord>;

/** What has become of a delivery; every one that was accepted is in one of them, or has expired. */
export const DELIVERY_STATES = ["pending", "held", "delivered", "exhausted", "discarded"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** What an owner gave up stands under this error. */
export const DISCARDED = "discarded";

/** The state that a record is in. */
export function stateOf(
  { held, due_at_ms, status, error }: Pick<
    DeliveryRecord,
    "held" | "due_at_ms" | "status" | "error"
  >,
): DeliveryState {
  if (held) return "held";
  if (due_at_ms !== null) return "pending";
  if (status === "succeeded") return "delivered";
  return error === DISCARDED ? "discarded" : "exhausted";
}

export const deliveries = collection({
  name: "deliveries",
  schema: DeliveryRecord,
  index: {
    /** Every delivery in its place, written once, so that success costs one write: the record's. */
    log: (d) => [d.webhook_id, d.created_at_ms, d.event_seq, d.id, d.event_type],
    /**
     * The same for those that are neither delivered nor leased. What a filter asks for stands in the key,
     * behind the place, so that counting reads no record.
     */
    undelivered: (d) =>
      d.leased || stateOf(d) === "delivered" ? null : [
        d.webhook_id,
        d.created_at_ms,
        d.event_seq,
        d.id,
        d.status,
        stateOf(d),
        d.event_type,
      ],
    held: (d) => d.held ? [d.webhook_id, d.event_seq] : null,
  },
  /** By webhook first: the backlog of one that is dead never stands before the others. */
  queue: {
    due: (d) => d.leased || d.due_at_ms === null ? null : [d.webhook_id, d.due_at_ms, d.event_seq],
  },
  expiresAt: (d) => d.expires_at_ms,
});

/** Attempts of one organization that began with one commit. It is removed when all of them have ended. */
export const LeaseRecord = z.strictObject({
  id: z.string(),
  /** From then on their process is taken for dead, and each of them that has not ended is due again. */
  ends_at_ms: z.number(),
  deliveries: z.array(z.strictObject({ id: z.string(), webhook_id: z.string(), attempt: z.int() })),
});
export type LeaseRecord = z.infer<typeof LeaseRecord>;

export const deliveryLeases = collection({
  name: "delivery_leases",
  schema: LeaseRecord,
  queue: { ends: (lease) => [lease.ends_at_ms] },
});

/** An attempt that another one followed; the latest stands in its delivery. Its id is `attemptId`. */
export const AttemptRecord = z.strictObject({
  id: z.string(),
  status: z.enum(["succeeded", "failed", "timed_out"]),
  http_status: z.int().nullable(),
  response_time_ms: z.number().nullable(),
  response_body: z.string(),
  response_truncated: z.boolean(),
  error: z.string().nullable(),
  started_at_ms: z.number().nullable(),
  expires_at_ms: z.number(),
});
export type AttemptRecord = z.infer<typeof AttemptRecord>;

export const deliveryAttempts = collection({
  name: "delivery_attempts",
  schema: AttemptRecord,
  expiresAt: (attempt) => attempt.expires_at_ms,
});

export const attemptId = (deliveryId: string, number: number): string => `${deliveryId}.${number}`;

/** A long walk over a webhook's deliveries, a piece at a time; a crash goes on where its cursor is. */
export const RecoveryRecord = z.strictObject({
  id: z.string(),
  webhook_id: z.string(),
  /** Lets held ones go, sends a range again, or removes what a deleted webhook left. */
  kind: z.enum(["release", "recover", "purge"]),
  state: z.enum(["running", "completed", "cancelled"]),
  /** Deliveries made from here on, in ms; a release discards those of earlier events. */
  since_ms: z.number(),
  /** Deliveries made before that. */
  until_ms: z.number(),
  /** Those in one of these states. */
  states: z.array(z.enum(DELIVERY_STATES)),
  /** The place in the index behind which it goes on. */
  cursor: z.array(z.union([z.string(), z.number()])),
  requeued: z.int(),
  discarded: z.int(),
  created_at_ms: z.number(),
  finished_at_ms: z.number().nullable(),
  /** Null while it runs. */
  expires_at_ms: z.number().nullable(),
});
export type RecoveryRecord = z.infer<typeof RecoveryRecord>;

export const recoveries = collection({
  name: "recoveries",
  schema: RecoveryRecord,
  index: { webhook: (job) => [job.webhook_id] },
  queue: { running: (job) => job.state === "running" ? [] : null },
  expiresAt: (job) => job.expires_at_ms,
});
