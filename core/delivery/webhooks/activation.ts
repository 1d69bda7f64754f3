import { type WebhookRecord, webhooks } from "../../../kv/records/webhook.ts";
import type { Writing } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { iso } from "../../codec/codec.ts";
import { switchOff } from "./disable.ts";
import { ENDLESS_MS, type RecoveryQueue, startRecovery } from "./recovery.ts";
import { ownedWebhook } from "./checks.ts";
import { type AttemptCounter, showWebhook } from "./show.ts";

/** Which held deliveries are sent: all, none, or those of events since an instant in ms. */
export type HeldChoice = "deliver" | "discard" | { readonly since: number };

/** Enables a webhook and releases its held deliveries, in the order of the events. */
export async function enableWebhook(
  work: Writing,
  deliveries: RecoveryQueue & AttemptCounter,
  id: string,
  held: HeldChoice,
) {
  const webhook = await ownedWebhook(work, id);
  const enabled = webhook.active ? webhook : enable(work, deliveries, webhook, held);
  return await showWebhook(work, deliveries, enabled);
}

/** Disables a webhook: from now on its deliveries are held. */
export async function disableWebhook(work: Writing, deliveries: AttemptCounter, id: string) {
  const webhook = await ownedWebhook(work, id);
  const disabled = webhook.active ? await disable(work, webhook) : webhook;
  return await showWebhook(work, deliveries, disabled);
}

/** Enables or disables the webhook and returns it; enabling it sends its held deliveries. */
export async function withState(
  work: Writing,
  queue: RecoveryQueue,
  webhook: WebhookRecord,
  active: boolean,
): Promise<WebhookRecord> {
  if (webhook.active === active) return webhook;
  return active ? enable(work, queue, webhook, "deliver") : await disable(work, webhook);
}

function enable(
  work: Writing,
  queue: RecoveryQueue,
  webhook: WebhookRecord,
  held: HeldChoice,
): WebhookRecord {
  const { actor, tx } = work;
  const since_ms = held === "deliver" ? 0 : held === "discard" ? ENDLESS_MS : held.since;
  const job = startRecovery(work, queue, webhook, { kind: "release", since_ms });
  const next = tx.put(webhooks, actor.tenant, { ...webhook, active: true, release_id: job.id });
  emit(work, tx, actor.tenant, {
    type: "webhook_enabled",
    resource: { type: "webhook", id: webhook.id },
    details: {
      name: next.name,
      held: typeof held === "string" ? held : { since: iso(held.since) },
    },
  });
  return next;
}

async function disable(work: Writing, webhook: WebhookRecord): Promise<WebhookRecord> {
  const { actor, tx } = work;
  const off = await switchOff(work, tx, actor.tenant, webhook);
  emit(work, tx, actor.tenant, {
    type: "webhook_disabled",
    resource: { type: "webhook", id: webhook.id },
    details: { name: off.name, url: off.url },
  });
  return off;
}
