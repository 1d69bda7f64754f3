import { z } from "zod";
import { collection } from "../store/collection.ts";
import { madeWith, Sealed, StoredCreatedWith } from "./fields.ts";
import { Standing } from "./standing.ts";

/** A subscription of an outside URL to events. */
export const WebhookRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  active: z.boolean(),
  events: z.array(z.string()),
  sealed_secret: Sealed,
  sealed_headers: Sealed,
  /** The secret before the last change. Both sign until `previous_ends_at_ms`. */
  sealed_previous_secret: Sealed.nullable(),
  previous_ends_at_ms: z.number().nullable(),
  retry_policy: z.record(z.string(), z.union([z.number(), z.boolean()])),
  /** The user whose present rights bound what it receives. */
  created_by: z.string(),
  /** The API key that made it, whose type bounds its rate; null when a user did. */
  created_by_key: z.string().nullable(),
  /** The credential that made it. */
  created_with: StoredCreatedWith,
  standing: Standing,
  /** The recovery that releases its held deliveries since it was last enabled. */
  release_id: z.string().nullable(),
  created_at_ms: z.number(),
  /** The log's last event before it was made. It receives later ones. Unlike clocks, numbers never step back. */
  after_seq: z.int().default(0), // absent in webhooks of earlier versions
});
export type WebhookRecord = z.infer<typeof WebhookRecord>;

/** Webhooks of earlier versions stored only their key. */
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

/** How long the phases of an attempt took, in ms; null for one that was not reached or not needed. */
const Timing = z.strictObject({
  resolve: z.number().nullable(),
  connect: z.number().nullable(),
  tls: z.number().nullable(),
  first_byte: z.number().nullable(),
});
/** Absent in the records of earlier versions. */
const timing_ms = Timing.nullable().optional();

/** The delivery of one event to one webhook. It is its own job: due, leased, attempted, settled. */
export const DeliveryRecord = z.strictObject({
  id: z.string(),
  webhook_id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  /** The exact bytes that are sent and signed. */
  body: z.string(),
  event_at: z.string(),
  /** The event's number in the log, by which held deliveries are ordered; 0 for a test. */
  event_seq: z.int(),
  /** The trace of the request that caused the event. */
  traceparent: z.string().optional(),
  /** True for a test, which is sent whatever the webhook's state. */
  test: z.boolean(),
  status: z.enum(DELIVERY_STATUSES),
  /** True while it waits for its webhook to be enabled. */
  held: z.boolean(),
  /** Attempts begun; counted at the claim, so that a crash cannot exceed the policy. */
  attempt: z.int(),
  /** Attempts of earlier rounds, which the policy does not count. */
  attempts_before: z.int(),
  http_status: z.int().nullable(),
  response_time_ms: z.number().nullable(),
  timing_ms,
  response_body: z.string(),
  response_truncated: z.boolean(),
  error: z.string().nullable(),
  sent_at_ms: z.number().nullable(),
  created_at_ms: z.number(),
  /** True during an attempt. Only the `log` index and a lease name it then. */
  leased: z.boolean(),
  /** When it is due or its lease ends; null when it has settled. */
  due_at_ms: z.number().nullable(),
  expires_at_ms: z.number(),
});
export type DeliveryRecord = z.infer<typeof DeliveryRecord>;

/** The states of a delivery. Every accepted delivery is in one of them or has expired. */
export const DELIVERY_STATES = ["pending", "held", "delivered", "exhausted", "discarded"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The error of a delivery that its owner discarded. */
export const DISCARDED = "discarded";

/** The state of a delivery. */
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
    /** All deliveries in order. Entries never change, so a success writes only the record. */
    log: (d) => [d.webhook_id, d.created_at_ms, d.event_seq, d.id, d.event_type],
    /**
     * Deliveries that are neither delivered nor leased, in the same order. The values that filters use follow
     * in the key, so that counting reads no record.
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
  /** By webhook first, so that one webhook's backlog never delays the others. */
  queue: {
    due: (d) => d.leased || d.due_at_ms === null ? null : [d.webhook_id, d.due_at_ms, d.event_seq],
  },
  expiresAt: (d) => d.expires_at_ms,
});

/** The lease of an organization's attempts that began in one commit. It is deleted when all have ended. */
export const LeaseRecord = z.strictObject({
  id: z.string(),
  /** When their process counts as dead; attempts that have not ended are due again then. */
  ends_at_ms: z.number(),
  deliveries: z.array(z.strictObject({ id: z.string(), webhook_id: z.string(), attempt: z.int() })),
});
export type LeaseRecord = z.infer<typeof LeaseRecord>;

export const deliveryLeases = collection({
  name: "delivery_leases",
  schema: LeaseRecord,
  queue: { ends: (lease) => [lease.ends_at_ms] },
});

/** An earlier attempt of a delivery, which holds the latest itself. Its id is `attemptId`. */
export const AttemptRecord = z.strictObject({
  id: z.string(),
  status: z.enum(["succeeded", "failed", "timed_out"]),
  http_status: z.int().nullable(),
  response_time_ms: z.number().nullable(),
  timing_ms,
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

/** A job that handles a webhook's deliveries in steps. After a crash it continues at its cursor. */
export const RecoveryRecord = z.strictObject({
  id: z.string(),
  webhook_id: z.string(),
  /** Releases held deliveries, sends a range again, or deletes those of a deleted webhook. */
  kind: z.enum(["release", "recover", "purge"]),
  state: z.enum(["running", "completed", "cancelled"]),
  /** The first instant in ms of the deliveries; a release discards earlier ones. */
  since_ms: z.number(),
  /** The end of the deliveries in ms, exclusive. */
  until_ms: z.number(),
  /** Only deliveries in one of these states. */
  states: z.array(z.enum(DELIVERY_STATES)),
  /** The index key after which it goes on. */
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
