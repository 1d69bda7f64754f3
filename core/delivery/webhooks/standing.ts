import { type WebhookRecord, webhooks } from "../../../kv/records/webhook.ts";
import type { StandingKind } from "../../access/access.ts";
import { isWebhookEvent, WEBHOOK_EVENTS } from "../../events/events.ts";

/** A webhook acts with the rights to read the events that it delivers. */
export const WEBHOOK: StandingKind<WebhookRecord> = {
  of: webhooks,
  resource: "webhook",
  needs: ({ events }) => [
    ...new Set(events.filter(isWebhookEvent).map((type) => WEBHOOK_EVENTS[type].scope)),
  ],
};
