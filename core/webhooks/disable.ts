import type { Tenant } from "../../kv/store/collection.ts";
import { recoveries, type WebhookRecord, webhooks } from "../../kv/records/webhook.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { App } from "../work/work.ts";
import { emit, RELAY_ACTOR } from "../events/events.ts";
import { notifyAdministrators } from "../access/people/notify.ts";
import { finished } from "./recovery_worker.ts";

/** Switches a webhook off; what still lets its held deliveries go is stopped with it. */
export async function switchOff(app: App, tx: Tx, tenant: Tenant, webhook: WebhookRecord) {
  const off = tx.put(webhooks, tenant, { ...webhook, active: false });
  const job = webhook.release_id && await tx.get(recoveries, tenant, webhook.release_id);
  if (job && job.state === "running") tx.put(recoveries, tenant, finished(app, job, "cancelled"));
  return off;
}

/** Disables a webhook whose delivery failed for good, and tells the administrators. */
export async function disableFailing(
  app: App,
  tx: Tx,
  tenant: Tenant,
  webhook: WebhookRecord,
  why: { readonly attempts: number; readonly error: string | null },
): Promise<void> {
  const { id, name, url } = webhook;
  await switchOff(app, tx, tenant, webhook);
  const resource = { type: "webhook", id } as const;
  const details = { name, url, ...why };
  emit({ ports: app.ports, signals: app.signals, actor: RELAY_ACTOR }, tx, tenant, {
    type: "webhook_disabled",
    resource,
    details,
  });
  await notifyAdministrators(app, tx, tenant, { type: "webhook_disabled", resource, details });
}
