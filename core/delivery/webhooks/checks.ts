import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { type WebhookRecord, webhooks } from "../../../kv/records/webhook.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Work } from "../../work/work.ts";
import type { Scope } from "../../identity/identity.ts";
import { Fault } from "../../fault/fault.ts";
import { actsFor, personRights } from "../../access/access.ts";
import { checkCustomHeaders, type CustomHeaders } from "./custom_headers.ts";
import { isWebhookEvent, WEBHOOK_EVENTS, type WebhookEventType } from "../../events/events.ts";

/** Maximum number of webhooks in one organization and space, so that fan-out can read all of them at once. */
export const WEBHOOKS_MAX = 1000;

/** The caller's webhook. @throws {Fault} NOT_FOUND */
export async function ownedWebhook({ db, actor }: Work, id: string): Promise<WebhookRecord> {
  const webhook = await db.get(webhooks, actor.tenant, id);
  if (webhook === null) throw new Fault("NOT_FOUND", "There is no such webhook.");
  return webhook;
}

/** @throws {Fault} CONFLICT for a disabled webhook, with the way to enable it */
export function mustBeEnabled({ id, active }: WebhookRecord): void {
  if (active) return;
  const message = "The webhook is disabled, so nothing is sent. Enable it first with POST " +
    `/api/v1/webhooks/${id}/enable, or PATCH with \`active\`: true.`;
  throw new Fault("CONFLICT", message, { active });
}

/** True while the organization is active. */
export async function isOrganizationActive(store: Store, { org }: Tenant): Promise<boolean> {
  return (await store.get(organizations, SYSTEM, org))?.active ?? false;
}

/** True while the person for whom the webhook acts may read events of this type. */
export async function mayReceive(
  store: Store,
  tenant: Tenant,
  webhook: WebhookRecord,
  type: WebhookEventType,
): Promise<boolean> {
  const rights = await personRights(store, tenant.org, actsFor(webhook));
  return rights.has(WEBHOOK_EVENTS[type].scope);
}

/** True when these rights allow reading events of this type. A ping holds nobody's data. */
export const mayReadType = (rights: ReadonlySet<Scope>, type: string): boolean =>
  !isWebhookEvent(type) || rights.has(WEBHOOK_EVENTS[type].scope);

/** @throws {Fault} INSUFFICIENT_SCOPES unless these rights allow reading all of these events */
export function mustRead(
  rights: ReadonlySet<Scope>,
  events: readonly WebhookEventType[],
  who: string,
): void {
  const beyond = events.filter((type) => !rights.has(WEBHOOK_EVENTS[type].scope));
  if (beyond.length === 0) return;
  throw new Fault("INSUFFICIENT_SCOPES", `${who} may not read ${beyond.join(", ")}.`, {
    required: [...new Set(beyond.map((type) => WEBHOOK_EVENTS[type].scope))],
    granted: [...rights],
  });
}

/** @throws {Fault} VALIDATION_FAILED for headers that are malformed, too many or reserved */
export function mustHaveValidHeaders(headers: CustomHeaders, field = "headers"): void {
  const faults = checkCustomHeaders(headers);
  if (faults.length === 0) return;
  const issues = faults.map((fault) => {
    const message = fault.replace(/^headers/, field);
    return { path: `body.${message.split(":")[0]}`, message };
  });
  throw new Fault("VALIDATION_FAILED", issues[0]!.message, { issues });
}
