import type { Tenant } from "../../../kv/store/collection.ts";
import { recoveries, type WebhookRecord, webhooks } from "../../../kv/records/webhook.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { emit, type Notice, RELAY_ACTOR } from "../../events/events.ts";
import { finished } from "./recovery_worker.ts";

/** The parts of the relay that disable a failing webhook. */
export interface DisableParts extends Pick<Context, "ports" | "signals"> {
  /** Notifies the administrators of an organization, in the transaction of the change. */
  notifyAdministrators(tx: Tx, tenant: Tenant, notice: Notice): Promise<void>;
}

/** Switches a webhook off, and cancels the release of its held deliveries if one runs. */
export async function switchOff(
  { ports }: Pick<Context, "ports">,
  tx: Tx,
  tenant: Tenant,
  webhook: WebhookRecord,
) {
  const off = tx.put(webhooks, tenant, { ...webhook, active: false });
  const job = webhook.release_id && await tx.get(recoveries, tenant, webhook.release_id);
  if (job && job.state === "running") {
    tx.put(recoveries, tenant, finished(ports.clock, job, "cancelled"));
  }
  return off;
}

/** Disables a webhook whose delivery failed for good, and notifies the administrators. */
export async function disableFailing(
  parts: DisableParts,
  tx: Tx,
  tenant: Tenant,
  webhook: WebhookRecord,
  why: { readonly attempts: number; readonly error: string | null },
): Promise<void> {
  const { id, name, url } = webhook;
  const { ports, signals } = parts;
  await switchOff(parts, tx, tenant, webhook);
  const resource = { type: "webhook", id } as const;
  const details = { name, url, ...why };
  emit({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, {
    type: "webhook_disabled",
    resource,
    details,
  });
  await parts.notifyAdministrators(tx, tenant, { type: "webhook_disabled", resource, details });
}
