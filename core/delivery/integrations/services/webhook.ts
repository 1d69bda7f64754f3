import { z } from "zod";
import { signDelivery } from "../../webhooks/signing.ts";
import { service } from "../service.ts";
import { TOPIC_NAMES } from "../topics.ts";
import { Address, SecretText, Topics } from "./fields.ts";

/** Posts the event as JSON, signed like a webhook delivery. */
export const webhook = service({
  name: "Webhook",
  description: "Posts the event and its text as JSON, signed like webhooks.",
  category: "generic",
  config: z.strictObject({
    url: Address,
    secret: SecretText.min(16, "must be at least 16 characters").describe(
      "The secret that signs the requests.",
    ),
    topics: Topics(TOPIC_NAMES),
  }),
  secrets: ["secret"],
  notify({ url, secret }, { message, event, nowMs }) {
    const { title, facts, severity, resolved, link } = message;
    const body = JSON.stringify({
      event_id: event.event_id,
      event_type: event.event_type,
      timestamp: event.timestamp,
      organization_id: event.organization_id,
      title,
      severity,
      over: resolved,
      link,
      facts: Object.fromEntries(facts),
      payload: event.details,
    });
    const headers = signDelivery({
      body,
      secret,
      deliveryId: event.event_id,
      timestampMs: nowMs,
      eventType: event.event_type,
      eventTimestamp: event.timestamp,
    });
    return { method: "POST", url, headers, body };
  },
});
