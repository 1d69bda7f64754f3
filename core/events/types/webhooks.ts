import { z } from "zod";
import { DELIVERY_STATUSES } from "../../../kv/records/webhook.ts";
import { count, id, instant } from "./fields.ts";
import { event } from "./event.ts";

const name = z.string().describe("The webhook's name.");
const url = z.string().describe("The destination.");
const webhookExample = { name: "on-call", url: "https://hooks.example.com/relay" };

/** Webhooks and their deliveries. */
export const webhookEvents = {
  webhook_created: event({
    meaning: "a webhook was created",
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
      ]).describe("What happens to deliveries held while it was disabled."),
    }),
    example: { name: "on-call", held: "deliver" },
  }),
  webhook_disabled: event({
    meaning:
      "a webhook was disabled by a person, after the last attempt of a delivery, or after a 410",
    details: z.strictObject({
      name,
      url,
      attempts: z.int().optional().describe("The attempts of the failed delivery."),
      error: z.string().nullable().optional().describe("The error of the failed delivery."),
    }),
    example: { ...webhookExample, attempts: 5, error: "HTTP status 500" },
  }),
  webhook_delivery_resent: event({
    meaning: "a delivery was requested again",
    details: z.strictObject({
      delivery_id: id("delivery"),
      event_type: z.string().describe("The type of its event."),
      status: z.enum(DELIVERY_STATUSES).describe("Its status before."),
    }),
    example: { delivery_id: "dlv_0m3xk", event_type: "command_denied", status: "failed" },
  }),
  webhook_recovery_started: event({
    meaning: "the deliveries of a period were requested again",
    details: z.strictObject({
      recovery_id: id("recovery"),
      since: instant("the period begins"),
      until: instant("the period ends"),
      status: z.array(z.enum(["failed", "exhausted", "held"])).describe("Which deliveries."),
    }),
    example: {
      recovery_id: "rcv_0m3xl",
      since: "2026-01-31T00:00:00.000Z",
      until: "2026-01-31T12:00:00.000Z",
      status: ["failed", "exhausted"],
    },
  }),
  webhook_recovery_cancelled: event({
    meaning: "a recovery was stopped early",
    details: z.strictObject({
      recovery_id: id("recovery"),
      requeued: count("The number of deliveries requested again"),
    }),
    example: { recovery_id: "rcv_0m3xl", requeued: 40 },
  }),
} as const;
