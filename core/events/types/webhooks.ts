import { z } from "zod";
import { DELIVERY_STATUSES } from "../../../kv/records/webhook.ts";
import { count, id, instant } from "./fields.ts";
import { event } from "./event.ts";

const name = z.string().describe("The webhook's name.");
const url = z.string().describe("Where it sends to.");
const webhookExample = { name: "on-call", url: "https://hooks.example.com/relay" };

/** Webhooks and their deliveries. */
export const webhookEvents = {
  webhook_created: event({
    meaning: "a webhook was made",
    details: z.strictObject({
      name,
      url,
      events: z.array(z.string()).describe("The types that it subscribes to."),
    }),
    example: { ...webhookExample, events: ["command_denied"] },
  }),
  webhook_updated: event({
    meaning: "a webhook was changed",
    details: z.strictObject({
      name,
      changed: z.array(z.enum(["name", "url", "events", "secret", "headers", "retry_policy"])),
    }),
    example: { name: "on-call", changed: ["events", "secret"] },
  }),
  webhook_deleted: event({
    meaning: "a webhook was deleted",
    details: z.strictObject({ name, url }),
    example: webhookExample,
  }),
  webhook_tested: event({
    meaning: "a ping was sent to a webhook",
    details: z.strictObject({
      delivery_id: id("delivery"),
      event_type: z.string().describe("The type of the event that was sent."),
    }),
    example: { delivery_id: "dlv_0m3xk", event_type: "ping" },
  }),
  webhook_enabled: event({
    meaning: "a webhook was enabled",
    details: z.strictObject({
      name,
      held: z.union([
        z.enum(["deliver", "discard"]),
        z.strictObject({ since: z.iso.datetime() }),
      ]).describe("What becomes of what was held while it was off."),
    }),
    example: { name: "on-call", held: "deliver" },
  }),
  webhook_disabled: event({
    meaning:
      "a webhook was disabled: by somebody, or because a delivery failed for good or it was gone",
    details: z.strictObject({
      name,
      url,
      attempts: z.int().optional().describe("Of the delivery that failed: how often it was tried."),
      error: z.string().nullable().optional().describe("Of the delivery that failed: its error."),
    }),
    example: { ...webhookExample, attempts: 5, error: "HTTP status 500" },
  }),
  webhook_delivery_resent: event({
    meaning: "a delivery was asked for once more",
    details: z.strictObject({
      delivery_id: id("delivery"),
      event_type: z.string().describe("The type of its event."),
      status: z.enum(DELIVERY_STATUSES).describe("Its status before."),
    }),
    example: { delivery_id: "dlv_0m3xk", event_type: "command_denied", status: "failed" },
  }),
  webhook_recovery_started: event({
    meaning: "the deliveries of a time were asked for once more",
    details: z.strictObject({
      recovery_id: id("recovery"),
      since: instant("the time begins"),
      until: instant("the time ends"),
      status: z.array(z.enum(["failed", "exhausted", "held"])).describe("Which of them."),
    }),
    example: {
      recovery_id: "rcv_0m3xl",
      since: "2026-01-31T00:00:00.000Z",
      until: "2026-01-31T12:00:00.000Z",
      status: ["failed", "exhausted"],
    },
  }),
  webhook_recovery_cancelled: event({
    meaning: "a recovery was stopped before its end",
    details: z.strictObject({
      recovery_id: id("recovery"),
      requeued: count("How many deliveries it had asked for"),
    }),
    example: { recovery_id: "rcv_0m3xl", requeued: 40 },
  }),
} as const;
