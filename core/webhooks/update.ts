import { type WebhookRecord, webhooks } from "../../kv/records/webhook.ts";
import { mustHoldNewValue } from "../api_keys/owned.ts";
import type { Writing } from "../app.ts";
import { canonicalJson } from "../canonical.ts";
import { emit } from "../events.ts";
import { mustBeDialable } from "../outbound/dialable.ts";
import { personRights } from "../roles/grant.ts";
import type { CustomHeaders } from "./custom_headers.ts";
import type { WebhookEventType } from "./event_types.ts";
import type { RetryPolicyChange } from "./retry_policy.ts";
import { mustBeSound, mustRead, ownedWebhook } from "./rules.ts";
import { showWebhook } from "./show.ts";

/** What may change of a webhook; what is undefined stays. A policy is changed field by field. */
export interface WebhookChange {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly events?: readonly WebhookEventType[] | undefined;
  readonly secret?: string | undefined;
  readonly headers?: CustomHeaders | undefined;
  readonly retry_policy?: RetryPolicyChange | undefined;
}

/** How long the secret before still signs beside the new one. */
const SECRET_GRACE_MS = 24 * 60 * 60 * 1000;

/**
 * Changes a webhook for every attempt that starts after the answer.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, VALIDATION_FAILED, INSUFFICIENT_SCOPES
 */
export async function updateWebhook(work: Writing, id: string, change: WebhookChange) {
  const { app, actor, tx } = work;
  mustHoldNewValue(actor);
  const webhook = await ownedWebhook(work, id);
  const { name, url, events, secret, headers, retry_policy } = change;
  if (url !== undefined) mustBeDialable(app, url);
  if (headers !== undefined) mustBeSound(headers);
  // Whoever says where events go, and what proves them, could read them.
  const steers = [url, events, secret, headers].some((field) => field !== undefined);
  if (steers) mustRead(actor.rights, events ?? webhook.events as WebhookEventType[], "You");
  if (events !== undefined) {
    const creator = await personRights(app.store, actor.tenant.org, webhook.created_by);
    mustRead(creator, events, "The webhook's creator");
  }
  const next: WebhookRecord = {
    ...webhook,
    ...(name !== undefined && { name }),
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events: [...events] }),
    retry_policy: { ...webhook.retry_policy, ...given(retry_policy) },
    ...headers !== undefined && changedHeaders(work, webhook, headers),
    ...secret !== undefined && changedSecret(work, webhook, secret),
  };
  const changed = FIELDS.filter(([, field]) =>
    canonicalJson([webhook[field]]) !== canonicalJson([next[field]])
  ).map(([shown]) => shown);
  if (changed.length > 0) {
    tx.put(webhooks, actor.tenant, next);
    emit(work, tx, actor.tenant, {
      type: "webhook_updated",
      resource: { type: "webhook", id },
      details: { name: next.name, changed },
    });
  }
  return await showWebhook(app, actor.tenant, next);
}

/** What a caller may change, as it is called in a request and in the record. */
const FIELDS = [
  ["name", "name"],
  ["url", "url"],
  ["events", "events"],
  ["secret", "sealed_secret"],
  ["headers", "sealed_headers"],
  ["retry_policy", "retry_policy"],
] as const;

/** Each sealing gives another text, so what stays the same is not sealed anew. */
function changedHeaders({ app: { sealer } }: Writing, webhook: WebhookRecord, headers: object) {
  const text = JSON.stringify(headers);
  const same = sealer.open(webhook.sealed_headers, webhook.id) === text;
  return same ? {} : { sealed_headers: sealer.seal(text, webhook.id) };
}

function changedSecret({ app }: Writing, webhook: WebhookRecord, secret: string) {
  const { sealer, ports } = app;
  if (sealer.open(webhook.sealed_secret, webhook.id) === secret) return {};
  return {
    sealed_secret: sealer.seal(secret, webhook.id),
    sealed_previous_secret: webhook.sealed_secret,
    previous_ends_at_ms: ports.clock.now() + SECRET_GRACE_MS,
  };
}

/** The fields that a change gives. */
const given = (change: RetryPolicyChange = {}): WebhookRecord["retry_policy"] =>
  Object.fromEntries(
    Object.entries(change).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
  );
