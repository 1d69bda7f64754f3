import { webhooks } from "../../kv/records/webhook.ts";
import { credentialInHand } from "../access/keys/made_with.ts";
import type { Work, Writing } from "../work/work.ts";
import { Fault } from "../fault/fault.ts";
import { listPage, type Paging } from "../../kv/store/paging.ts";
import { mustBeDialable } from "../ports/outbound/dialable.ts";
import { unmaskHeaders } from "./custom_headers.ts";
import { adopt } from "../access/standing/adopt.ts";
import { WEBHOOK } from "../access/standing/kinds.ts";
import type { WebhookEventType } from "../events/types/webhook_events.ts";
import type { RetryPolicy } from "./retry_policy.ts";
import { mustBeSound, mustRead, ownedWebhook, WEBHOOKS_MAX } from "./checks.ts";
import { startRecovery } from "./recovery.ts";
import { showWebhook } from "./show.ts";
import { newSecret } from "./signing.ts";

export interface NewWebhook {
  readonly name: string;
  readonly url: string;
  /** Without one, one is made. */
  readonly secret?: string | undefined;
  readonly events: readonly WebhookEventType[];
  readonly headers: Readonly<Record<string, string>>;
  readonly retry_policy: RetryPolicy;
  readonly active: boolean;
}

/** Makes a webhook; a secret that was made for it is in this answer only. @throws {Fault} FORBIDDEN, VALIDATION_FAILED, INSUFFICIENT_SCOPES, CONFLICT */
export async function createWebhook(work: Writing, input: NewWebhook) {
  const { app, actor, tx } = work;
  mustBeDialable(app, input.url);
  mustBeSound(unmaskHeaders(input.headers, {}, "headers"));
  mustRead(actor.rights, input.events, "You");
  await app.log.flush();
  const after_seq = await app.log.head(actor.tenant);
  const existing = await tx.count(webhooks, actor.tenant);
  if (existing >= WEBHOOKS_MAX) {
    throw new Fault("CONFLICT", `There are ${WEBHOOKS_MAX} webhooks already. Delete one first.`);
  }
  const id = app.ports.entropy.id("whk");
  const secret = input.secret ?? newSecret(app.ports.entropy);
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
    sealed_secret: app.sealer.seal(secret, id),
    sealed_headers: app.sealer.seal(JSON.stringify(input.headers), id),
    retry_policy: input.retry_policy,
    sealed_previous_secret: null,
    previous_ends_at_ms: null,
    created_by: actor.userId,
    created_with: await credentialInHand(work),
    created_by_key: actor.kind === "api_key" ? actor.id : null,
    release_id: null,
    created_at_ms: app.ports.clock.now(),
    after_seq,
  });
  const shown = await showWebhook(work, webhook);
  return { ...shown, ...(input.secret === undefined && { secret }) };
}

/** The caller's webhooks, oldest first. */
export async function listWebhooks(work: Work, paging: Paging) {
  const { actor, db } = work;
  const { items, pagination } = await listPage(db, webhooks, actor.tenant, paging);
  const shown = await Promise.all(items.map((each) => showWebhook(work, each)));
  return { webhooks: shown, pagination };
}

export async function getWebhook(work: Work, id: string) {
  return await showWebhook(work, await ownedWebhook(work, id));
}

/** Takes over a webhook that is suspended. @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES, FORBIDDEN, CONFLICT */
export const adoptWebhook = async (work: Writing, id: string) =>
  await showWebhook(work, await adopt(work, WEBHOOK, id));

/** Removes a webhook; what waits for it goes nowhere any more, and its log is removed soon after. */
export async function deleteWebhook(work: Writing, id: string) {
  const webhook = await ownedWebhook(work, id);
  work.tx.delete(webhooks, work.actor.tenant, id);
  work.app.deliveries.attempts.forget(work.tx, work.actor.tenant, id);
  startRecovery(work, webhook, { kind: "purge" });
  return { id, name: webhook.name, url: webhook.url };
}
