import { z } from "zod";
import { EVENT_TYPES, PING } from "../../core/events/events.ts";
import { RECOVERABLE, type Recoverable, RetryPolicy } from "../../core/delivery/delivery.ts";
import { DELIVERY_STATUSES } from "../../kv/records/webhook.ts";
import {
  CreatedWith,
  Flag,
  Instant,
  JsonObject,
  PageQuery,
  standing,
  Timestamp,
} from "./schemas.ts";

const EventType = z.enum(EVENT_TYPES).meta({ id: "WebhookEventType" });
/** The event of a test; a ping by default. */
export const TestType = z.enum([PING.type, ...EVENT_TYPES]).meta({ id: "DeliveryEventType" });
export const Url = z.string().min(1).max(2048)
  .meta({ examples: ["https://hooks.example.com/relay"] });
export const Secret = z.string().min(8).max(256)
  .meta({ description: "The shared secret that signs deliveries." });
export const Headers = z.record(z.string(), z.string())
  .meta({ description: "Your own headers, sent with each delivery." });
export const Events = z.array(EventType).min(1).max(EVENT_TYPES.length)
  .refine((events) => new Set(events).size === events.length, "names a type more than once")
  .meta({ uniqueItems: true });

export const Webhook = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  active: z.boolean(),
  events: z.array(z.string()),
  custom_headers: z.record(z.string(), z.string()).meta({
    description: "Values are `********` for callers without secrets:read.",
  }),
  retry_policy: RetryPolicy.meta({ id: "RetryPolicy" }),
  previous_secret_ends_at: Timestamp.nullable().meta({
    description: "Until this time the previous secret signs too.",
  }),
  release_id: z.string().nullable().meta({
    description: "The recovery that sends the held deliveries after the webhook was last enabled.",
  }),
  ...standing,
  created_with: CreatedWith,
  created_at: Timestamp,
  delivery_count: z.int().meta({ description: "The number of completed attempts." }),
  last_delivery_at: Timestamp.nullable().meta({
    description: "When the latest attempt completed.",
  }),
}).meta({ id: "Webhook" });

/** A webhook in the response to its creation, the only one with the secret. */
export const NewWebhook = Webhook.extend({
  secret: z.string().optional().meta({ description: "The secret that Relay generated." }),
}).meta({ id: "NewWebhook" });

const Status = z.enum(DELIVERY_STATUSES).meta({ id: "DeliveryStatus" });

const Sent = z.record(z.string(), z.string());
const phase = z.number().nullable();
const Timing = z.object({
  resolve: phase,
  connect: phase,
  tls: phase,
  first_byte: phase.meta({ description: "From the request to the first byte of the response." }),
}).meta({
  id: "Timing",
  description: "In ms. A phase is null when it was not reached, or when a connection was reused.",
});

/** The fields of an attempt; a delivery shows those of its latest one. */
const outcome = {
  status: Status,
  http_status: z.int().nullable(),
  response_time_ms: z.number().nullable(),
  timing_ms: Timing.nullable().meta({
    description: "How long each phase took. Null before an attempt, and for one that was lost.",
  }),
  response_body: z.string().meta({ description: "The first 4 KiB of the response body." }),
  error: z.string().nullable(),
};

export const Delivery = z.object({
  id: z.string(),
  webhook_id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  held: z.boolean().meta({ description: "True while it waits for its webhook to be enabled." }),
  final: z.boolean().meta({ description: "True when it failed and will not be attempted again." }),
  test: z.boolean().meta({ description: "True for a requested test." }),
  ...outcome,
  response_truncated: z.boolean().meta({
    description: "True when the response was longer than what is kept.",
  }),
  attempt: z.int(),
  sent_at: Timestamp.nullable(),
  created_at: Timestamp,
  next_attempt_at: Timestamp.nullable(),
}).meta({ id: "Delivery" });

export const DeliveryDetail = Delivery.extend({
  request: z.object({
    url: z.string(),
    headers: Sent.nullable().meta({
      description: "Null before the first attempt. Signatures and values of your own headers are " +
        "`********` for callers without secrets:read. X-Audit-Checkpoint is not kept.",
    }),
    body: z.string().meta({ description: "The exact text that is sent and signed." }),
  }).nullable().meta({
    description:
      "The latest attempt's request, with the URL, secret and headers that the webhook has now. " +
      "Null for callers without the right to read the event.",
  }),
  attempts: z.array(z.object({
    number: z.int(),
    ...outcome,
    truncated: z.boolean(),
    started_at: Timestamp.nullable(),
    request_headers: Sent.nullable().meta({
      description:
        "The headers of this attempt's request, like `request.headers`. Its URL and body " +
        "are those of `request`.",
    }),
  })).meta({ description: "The newest 50 attempts, oldest first." }),
}).meta({ id: "DeliveryDetail" });

export const LogQuery = PageQuery.extend({
  status: Status.optional().meta({ description: "Deliveries with this status." }),
  event_type: TestType.optional().meta({ description: "Deliveries of events of this type." }),
  held: Flag.optional().meta({ description: "Deliveries that are held, or not held." }),
  since: Instant.optional().meta({
    description: "Created at or after this time or date; UTC unless a zone is given.",
  }),
  until: Instant.optional().meta({
    description: "Created before this time, or before the start of this date.",
  }),
});

export const HeldChoice = z.union([
  z.enum(["deliver", "discard"]),
  z.strictObject({ since: Instant }),
]);

const RECOVERABLES = Object.keys(RECOVERABLE) as [Recoverable, ...Recoverable[]];

export const RecoverBody = z.strictObject({
  since: Instant,
  until: Instant.optional(),
  status: z.array(z.enum(RECOVERABLES)).min(1).max(RECOVERABLES.length).default(RECOVERABLES)
    .meta({
      description:
        "The deliveries to send: `failed` await their next attempt, `exhausted` failed for good, " +
        "`held` wait for the webhook to be enabled.",
    }),
  dry_run: z.boolean().default(false),
}).refine(({ since, until }) => until === undefined || since < until, {
  path: ["until"],
  message: "must be later than since",
});

export const Recovery = z.object({
  id: z.string(),
  webhook_id: z.string(),
  kind: z.enum(["release", "recover", "purge"]),
  state: z.enum(["running", "completed", "cancelled"]),
  requeued: z.int().meta({ description: "The number of deliveries queued again." }),
  discarded: z.int(),
  created_at: Timestamp,
  finished_at: Timestamp.nullable(),
}).meta({ id: "WebhookRecovery" });

export const EventTypes = z.object({
  event_types: z.array(z.object({
    name: z.string(),
    category: z.string(),
    description: z.string(),
    scope: z.string().meta({
      description: "The scope that the webhook's creator needs to receive it.",
    }),
    schema: JsonObject.meta({ description: "The JSON Schema of the payload." }),
    example: JsonObject,
  })),
});
