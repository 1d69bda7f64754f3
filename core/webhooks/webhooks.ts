import { deliveries, webhooks } from "../../kv/records/webhook.ts";
import { dropTally } from "../../kv/tally.ts";
import type { Work, Writing } from "../app.ts";
import { Fault } from "../fault.ts";
import { iso, type Paging, showPage } from "../lists.ts";
import { PING, type WebhookEventType } from "./event_types.ts";
import type { RetryPolicy } from "./retry_policy.ts";
import { mustBeDialable, mustBeSound, mustRead, ownedWebhook } from "./rules.ts";
import { showDelivery, showWebhook } from "./show.ts";

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
  mustBeSound(input.headers);
  mustRead(actor.rights, input.events, "You");
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
    sealed_previous_secret: null,
    previous_ends_at_ms: null,
    created_by: actor.userId,
    created_by_key: actor.kind === "api_key" ? actor.id : null,
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
