import { SYSTEM, type Tenant } from "../../kv/collection.ts";
import { organizations } from "../../kv/records/organization.ts";
import { users } from "../../kv/records/user.ts";
import {
  deliveries,
  type DeliveryRecord,
  type WebhookRecord,
  webhooks,
} from "../../kv/records/webhook.ts";
import { dropTally, readTally } from "../../kv/tally.ts";
import type { App, Work, Writing } from "../app.ts";
import { Fault } from "../fault.ts";
import { iso, isoOrNull, type Paging, showPage } from "../lists.ts";
import { rightsOf } from "../scopes.ts";
import { checkTarget } from "../outbound/target.ts";
import { OutboundError } from "../ports.ts";
import { checkCustomHeaders } from "./custom_headers.ts";
import { PING, WEBHOOK_EVENTS, type WebhookEventType } from "./event_types.ts";
import type { RetryPolicy } from "./retry_policy.ts";

export interface NewWebhook {
  readonly name: string;
  readonly url: string;
  readonly secret: string;
  readonly events: readonly WebhookEventType[];
  readonly headers: Readonly<Record<string, string>>;
  readonly retry_policy: RetryPolicy;
  readonly active: boolean;
}

/** Webhooks of one organization and space, so that fan-out can read all of them at once. */
export const WEBHOOKS_MAX = 1000;

/** Makes a webhook. @throws {Fault} VALIDATION_FAILED, INSUFFICIENT_SCOPES, CONFLICT */
export async function createWebhook(work: Writing, input: NewWebhook) {
  const { app, actor, tx } = work;
  mustBeDialable(app, input.url);
  const faults = checkCustomHeaders(input.headers);
  if (faults.length > 0) {
    const issues = faults.map((message) => ({ path: `body.${message.split(":")[0]}`, message }));
    throw new Fault("VALIDATION_FAILED", faults[0]!, { issues });
  }
  const beyond = input.events.filter((type) => !actor.rights.has(WEBHOOK_EVENTS[type].scope));
  if (beyond.length > 0) {
    throw new Fault("INSUFFICIENT_SCOPES", `You may not read ${beyond.join(", ")}.`, {
      required: [...new Set(beyond.map((type) => WEBHOOK_EVENTS[type].scope))],
      granted: [...actor.rights],
    });
  }
  const existing = await tx.count(webhooks, actor.tenant);
  if (existing >= WEBHOOKS_MAX) {
    throw new Fault("CONFLICT", `There are ${WEBHOOKS_MAX} webhooks already. Delete one first.`);
  }
  const id = app.ports.entropy.id("whk");
  // Before the commit, because its outcome may stay unknown: a webhook that exists must be heard of.
  app.deliveries.subscribe(actor.tenant);
  // What lies before the first webhook of all is nobody's to receive, and is not read again.
  if (existing === 0) await app.deliveries.skip(tx, actor.tenant);
  const webhook = tx.insert(webhooks, actor.tenant, {
    id,
    name: input.name,
    url: input.url,
    active: input.active,
    events: [...input.events],
    sealed_secret: app.sealer.seal(input.secret, id),
    sealed_headers: app.sealer.seal(JSON.stringify(input.headers), id),
    retry_policy: input.retry_policy,
    created_by: actor.userId,
    created_at_ms: app.ports.clock.now(),
  });
  return await showWebhook(app, actor.tenant, webhook);
}

/** The caller's webhooks, oldest first. */
export async function listWebhooks({ app, actor, db }: Work, paging: Paging) {
  const page = await db.list(webhooks, actor.tenant, paging);
  const shown = await Promise.all(page.items.map((each) => showWebhook(app, actor.tenant, each)));
  const total = await db.count(webhooks, actor.tenant);
  return { webhooks: shown, pagination: showPage(paging, page, total) };
}

export async function getWebhook(work: Work, id: string) {
  return await showWebhook(work.app, work.actor.tenant, await ownedWebhook(work, id));
}

/** Removes a webhook; deliveries that are waiting for it go nowhere any more. */
export async function deleteWebhook(work: Writing, id: string) {
  const webhook = await ownedWebhook(work, id);
  work.tx.delete(webhooks, work.actor.tenant, id);
  dropTally(work.tx, work.actor.tenant, "deliveries", id);
  return { id, name: webhook.name, url: webhook.url };
}

/** Sends a ping, whatever the webhook subscribes to. */
export async function pingWebhook(work: Writing, id: string) {
  const { app, actor, tx } = work;
  const webhook = await ownedWebhook(work, id);
  const delivery = app.deliveries.create(tx, actor.tenant, id, {
    id: app.ports.entropy.uuid(),
    type: PING.type,
    at: iso(app.ports.clock.now()),
    payload: { message: "The webhook works.", webhook_id: id, events: webhook.events },
  });
  return showDelivery(delivery);
}

/** Deliveries of a webhook, newest first. */
export async function listDeliveries(work: Work, id: string, paging: Paging) {
  const { actor, db } = work;
  await ownedWebhook(work, id);
  const by = { index: "webhook", prefix: [id] };
  const page = await db.list(deliveries, actor.tenant, { ...paging, ...by, reverse: true });
  const total = await db.countBy(deliveries, actor.tenant, "webhook", [id]);
  return { deliveries: page.items.map(showDelivery), pagination: showPage(paging, page, total) };
}

export async function getDelivery(work: Work, id: string, deliveryId: string) {
  await ownedWebhook(work, id);
  const delivery = await work.db.get(deliveries, work.actor.tenant, deliveryId);
  if (delivery !== null && delivery.webhook_id === id) return showDelivery(delivery);
  throw new Fault("NOT_FOUND", "There is no such delivery.");
}

/** True while the webhook's creator may read events of this type. */
export async function mayReceive(
  app: App,
  tenant: Tenant,
  webhook: WebhookRecord,
  type: WebhookEventType,
): Promise<boolean> {
  const user = await app.store.get(users, { org: tenant.org, space: "live" }, webhook.created_by);
  const organization = await app.store.get(organizations, SYSTEM, tenant.org);
  if (!user?.active || !organization?.active) return false;
  return rightsOf(user.roles, organization.host).has(WEBHOOK_EVENTS[type].scope);
}

function mustBeDialable(app: App, url: string): void {
  try {
    checkTarget(url, app.config().outbound.allow_private_targets);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const issues = [{ path: "body.url", message: error.message }];
    throw new Fault("VALIDATION_FAILED", error.message, { issues });
  }
}

async function ownedWebhook({ db, actor }: Work, id: string): Promise<WebhookRecord> {
  const webhook = await db.get(webhooks, actor.tenant, id);
  if (webhook === null) throw new Fault("NOT_FOUND", "There is no such webhook.");
  return webhook;
}

async function showWebhook(app: App, tenant: Tenant, webhook: WebhookRecord) {
  const last = await app.store.list(deliveries, tenant, {
    index: "webhook",
    prefix: [webhook.id],
    reverse: true,
    limit: 1,
  });
  return {
    id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    active: webhook.active,
    events: webhook.events,
    custom_headers: JSON.parse(app.sealer.open(webhook.sealed_headers, webhook.id)),
    retry_policy: webhook.retry_policy as RetryPolicy,
    created_at: iso(webhook.created_at_ms),
    delivery_count: await readTally(app.store, tenant, "deliveries", webhook.id),
    last_delivery_at: isoOrNull(last.items[0]?.sent_at_ms ?? null),
  };
}

function showDelivery(delivery: DeliveryRecord) {
  const done = delivery.due_at_ms === null;
  return {
    id: delivery.id,
    webhook_id: delivery.webhook_id,
    event_id: delivery.event_id,
    event_type: delivery.event_type,
    status: delivery.status,
    held: delivery.held,
    final: done && (delivery.status === "failed" || delivery.status === "timed_out"),
    http_status: delivery.http_status,
    response_time_ms: delivery.response_time_ms,
    attempt: delivery.attempt,
    sent_at: isoOrNull(delivery.sent_at_ms),
    response_body: delivery.response_body,
    error: delivery.error,
    next_attempt_at: delivery.status === "failed" || delivery.status === "timed_out"
      ? isoOrNull(delivery.due_at_ms)
      : null,
  };
}
