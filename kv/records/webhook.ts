import { z } from "zod";
import { collection } from "../collection.ts";
import { Sealed } from "./sealed.ts";

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
  created_at_ms: z.number(),
});
export type WebhookRecord = z.infer<typeof WebhookRecord>;

export const webhooks = collection({
  name: "webhooks",
  schema: WebhookRecord,
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
  status: z.enum(DELIVERY_STATUSES),
  /** True while it waits for its webhook to be enabled. */
  held: z.boolean(),
  /** Attempts begun; counted at the claim, so that a crash cannot make more of them than the policy says. */
  attempt: z.int(),
  http_status: z.int().nullable(),
  response_time_ms: z.number().nullable(),
  response_body: z.string(),
  error: z.string().nullable(),
  sent_at_ms: z.number().nullable(),
  created_at_ms: z.number(),
  /** When it is due, or when its lease ends; null when nothing more happens by itself. */
  due_at_ms: z.number().nullable(),
  expires_at_ms: z.number(),
});
export type DeliveryRecord = z.infer<typeof DeliveryRecord>;

export const deliveries = collection({
  name: "deliveries",
  schema: DeliveryRecord,
  index: { webhook: (d) => [d.webhook_id] },
  queue: { due: (d) => d.due_at_ms === null ? null : [d.due_at_ms] },
  expiresAt: (d) => d.expires_at_ms,
});
