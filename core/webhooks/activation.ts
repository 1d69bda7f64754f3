import { type WebhookRecord, webhooks } from "../../kv/records/webhook.ts";
import type { Writing } from "../work/work.ts";
import { emit } from "../events/events.ts";
import { iso } from "../codec/instant.ts";
import { switchOff } from "./disable.ts";
import { ENDLESS_MS, startRecovery } from "./recovery.ts";
import { ownedWebhook } from "./checks.ts";
import { showWebhook } from "./show.ts";

/** What becomes of held deliveries: all go out, none, or those of events since an instant in ms. */
export type HeldChoice = "deliver" | "discard" | { readonly since: number };

/** Switches a webhook on and lets go what was held for it, in the order of the events. */
export async function enableWebhook(work: Writing, id: string, held: HeldChoice) {
  const webhook = await ownedWebhook(work, id);
  return await showWebhook(work, webhook.active ? webhook : enable(work, webhook, held));
}

/** Switches a webhook off: from now on what happens is held for it. */
export async function disableWebhook(work: Writing, id: string) {
  const webhook = await ownedWebhook(work, id);
  return await showWebhook(work, webhook.active ? await disable(work, webhook) : webhook);
}

/** The webhook with this state; one that is enabled delivers what was held. */
export async function withState(
  work: Writing,
  webhook: WebhookRecord,
  active: boolean,
): Promise<WebhookRecord> {
  if (webhook.active === active) return webhook;
  return active ? enable(work, webhook, "deliver") : await disable(work, webhook);
}

function enable(work: Writing, webhook: WebhookRecord, held: HeldChoice): WebhookRecord {
  const { actor, tx } = work;
  const since_ms = held === "deliver" ? 0 : held === "discard" ? ENDLESS_MS : held.since;
  const job = startRecovery(work, webhook, { kind: "release", since_ms });
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
  const { app, actor, tx } = work;
  const off = await switchOff(app, tx, actor.tenant, webhook);
  emit(work, tx, actor.tenant, {
    type: "webhook_disabled",
    resource: { type: "webhook", id: webhook.id },
    details: { name: off.name, url: off.url },
  });
  return off;
}
