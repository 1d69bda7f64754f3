import { SYSTEM, type Tenant } from "../../kv/collection.ts";
import { type OrganizationRecord, organizations } from "../../kv/records/organization.ts";
import { type UserRecord, users } from "../../kv/records/user.ts";
import { type WebhookRecord, webhooks } from "../../kv/records/webhook.ts";
import type { App, Work } from "../app.ts";
import { Fault } from "../fault.ts";
import { checkTarget } from "../outbound/target.ts";
import { OutboundError } from "../ports.ts";
import { isBuiltIn, rightsOf } from "../roles/rights.ts";
import type { Scope } from "../scopes.ts";
import { checkCustomHeaders, type CustomHeaders } from "./custom_headers.ts";
import { WEBHOOK_EVENTS, type WebhookEventType } from "./event_types.ts";

/** Webhooks of one organization and space, so that fan-out can read all of them at once. */
export const WEBHOOKS_MAX = 1000;

/** A webhook of the caller's. @throws {Fault} NOT_FOUND */
export async function ownedWebhook({ db, actor }: Work, id: string): Promise<WebhookRecord> {
  const webhook = await db.get(webhooks, actor.tenant, id);
  if (webhook === null) throw new Fault("NOT_FOUND", "There is no such webhook.");
  return webhook;
}

/** What a webhook's creator may read now: nothing once the user or the organization is inactive. */
export async function creatorRights(
  app: App,
  tenant: Tenant,
  webhook: WebhookRecord,
): Promise<ReadonlySet<Scope>> {
  const user = await app.store.get(users, { org: tenant.org, space: "live" }, webhook.created_by);
  const organization = await app.store.get(organizations, SYSTEM, tenant.org);
  if (!user?.active || !organization?.active) return new Set();
  // Built-in roles give the same for as long as both records are these, which they are in memory.
  const known = builtIn.get(user);
  if (known?.organization === organization) return known.rights;
  const rights = await rightsOf(app.store, organization, user.roles);
  if (user.roles.every(isBuiltIn)) builtIn.set(user, { organization, rights });
  return rights;
}

const builtIn = new WeakMap<UserRecord, {
  readonly organization: OrganizationRecord;
  readonly rights: ReadonlySet<Scope>;
}>();

/** True while the webhook's creator may read events of this type. */
export async function mayReceive(
  app: App,
  tenant: Tenant,
  webhook: WebhookRecord,
  type: WebhookEventType,
): Promise<boolean> {
  return (await creatorRights(app, tenant, webhook)).has(WEBHOOK_EVENTS[type].scope);
}

/** @throws {Fault} INSUFFICIENT_SCOPES unless these rights open all of these events */
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

/** @throws {Fault} VALIDATION_FAILED for what is never dialled, by its spelling */
export function mustBeDialable(app: App, url: string): void {
  try {
    checkTarget(url, app.config().outbound.allow_private_targets);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const issues = [{ path: "body.url", message: error.message }];
    throw new Fault("VALIDATION_FAILED", error.message, { issues });
  }
}

/** @throws {Fault} VALIDATION_FAILED for headers that are malformed, too many or not the owner's to set */
export function mustBeSound(headers: CustomHeaders): void {
  const faults = checkCustomHeaders(headers);
  if (faults.length === 0) return;
  const issues = faults.map((message) => ({ path: `body.${message.split(":")[0]}`, message }));
  throw new Fault("VALIDATION_FAILED", faults[0]!, { issues });
}
