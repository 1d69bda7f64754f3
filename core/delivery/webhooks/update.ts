import { type WebhookRecord, webhooks } from "../../../kv/records/webhook.ts";
import { actsFor, mustCover, personRights } from "../../access/access.ts";
import { mustMatchRecord, type Writing } from "../../work/work.ts";
import { canonicalJson } from "../../codec/codec.ts";
import { emit, type WebhookEventType } from "../../events/events.ts";
import { mustBeDialable, mustResolveOutside } from "../../ports/ports.ts";
import { type CustomHeaders, unmaskHeaders } from "./custom_headers.ts";
import type { RetryPolicyChange } from "../jobs/retry_policy.ts";
import { mustHaveValidHeaders, mustRead, ownedWebhook } from "./checks.ts";
import type { RecoveryQueue } from "./recovery.ts";
import { type AttemptCounter, showWebhook } from "./show.ts";
import { withState } from "./activation.ts";

/**
 * A change of a webhook; undefined fields stay. A retry policy is changed field by field. Other fields of the
 * record may be sent back unchanged.
 */
export interface WebhookChange {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly active?: boolean | undefined;
  readonly events?: readonly string[] | undefined;
  readonly secret?: string | undefined;
  readonly headers?: CustomHeaders | undefined;
  /** The same as `headers`, under the name that the record uses. */
  readonly custom_headers?: CustomHeaders | undefined;
  readonly retry_policy?: RetryPolicyChange | undefined;
}

/** Fields that deliveries change; values sent back need not match the current ones. */
const CHANGING = ["delivery_count", "last_delivery_at"];

/** How long requests are also signed with the previous secret. */
const SECRET_GRACE_MS = 24 * 60 * 60 * 1000;

/**
 * Changes a webhook for every attempt that starts after the answer.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, VALIDATION_FAILED, INSUFFICIENT_SCOPES
 */
export async function updateWebhook(
  work: Writing,
  deliveries: RecoveryQueue & AttemptCounter,
  id: string,
  change: WebhookChange,
) {
  const { actor, tx } = work;
  const webhook = await ownedWebhook(work, id);
  const { name, url, active, events, secret, headers, custom_headers, retry_policy, ...others } =
    change;
  mustMatchRecord(others, await showWebhook(work, deliveries, webhook), CHANGING);
  const given = headers ?? custom_headers;
  const field = headers === undefined ? "custom_headers" : "headers";
  const next: WebhookRecord = {
    ...webhook,
    ...(name !== undefined && { name }),
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events: [...events] }),
    retry_policy: { ...webhook.retry_policy, ...givenFields(retry_policy) },
    ...given !== undefined && changedHeaders(work, webhook, given, field),
    ...secret !== undefined && changedSecret(work, webhook, secret),
  };
  const changed = FIELDS.filter(([, field]) =>
    canonicalJson([webhook[field]]) !== canonicalJson([next[field]])
  ).map(([shown]) => shown);
  if (changed.includes("url")) {
    mustBeDialable(work, next.url);
    await mustResolveOutside(work.ports, next.url, actor.tenant.org);
  }
  await mustBeAllowed(work, next, secret === undefined ? changed : [...changed, "secret"]);
  mustNotRedirectHeaders(work, { webhook, next, given: given ?? {} });
  if (changed.length > 0) {
    tx.put(webhooks, actor.tenant, next);
    emit(work, tx, actor.tenant, {
      type: "webhook_updated",
      resource: { type: "webhook", id },
      details: { name: next.name, changed },
    });
  }
  const updated = await withState(work, deliveries, next, active ?? next.active);
  return await showWebhook(work, deliveries, updated);
}

/**
 * Checks that the caller may read all events: a caller who sets their target or their secret could read them.
 * @throws {Fault} INSUFFICIENT_SCOPES
 */
async function mustBeAllowed(
  { store, actor }: Writing,
  next: WebhookRecord,
  changed: readonly (typeof FIELDS[number][0])[],
): Promise<void> {
  const events = next.events as WebhookEventType[];
  const steering = ["url", "events", "secret", "headers"] as const;
  if (steering.some((field) => changed.includes(field))) mustRead(actor.rights, events, "You");
  if (changed.includes("events")) {
    const person = await personRights(store, actor.tenant.org, actsFor(next));
    mustRead(person, events, "The user that the webhook acts for");
  }
}

/** The fields that a caller may change, by their names in a request and in the record. */
const FIELDS = [
  ["name", "name"],
  ["url", "url"],
  ["events", "events"],
  ["secret", "sealed_secret"],
  ["headers", "sealed_headers"],
  ["retry_policy", "retry_policy"],
] as const;

/**
 * The sealed headers; unchanged ones are not sealed again, because each sealing gives a different text.
 * @throws {Fault} VALIDATION_FAILED
 */
function changedHeaders(
  { sealer }: Writing,
  webhook: WebhookRecord,
  given: CustomHeaders,
  field: string,
) {
  const stored: CustomHeaders = JSON.parse(sealer.open(webhook.sealed_headers, webhook.id));
  const headers = unmaskHeaders(given, stored, field);
  if (canonicalJson(stored) === canonicalJson(headers)) return {};
  mustHaveValidHeaders(headers, field);
  return { sealed_headers: sealer.seal(JSON.stringify(headers), webhook.id) };
}

/**
 * A new URL receives the stored header values, so it needs the right to read them.
 * @throws {Fault} INSUFFICIENT_SCOPES
 */
function mustNotRedirectHeaders(
  { sealer, actor }: Writing,
  { webhook, next, given }: {
    readonly webhook: WebhookRecord;
    readonly next: WebhookRecord;
    readonly given: CustomHeaders;
  },
): void {
  if (next.url === webhook.url) return;
  const stored: CustomHeaders = JSON.parse(sealer.open(webhook.sealed_headers, webhook.id));
  const sent: CustomHeaders = JSON.parse(sealer.open(next.sealed_headers, webhook.id));
  const kept = Object.keys(sent).some((name) =>
    sent[name] === stored[name] && given[name] !== sent[name]
  );
  if (!kept) return;
  const message = "The stored header values would be sent to the new address. Send new values too.";
  mustCover(actor.rights, ["secrets:read"], message);
}

function changedSecret({ sealer, ports }: Writing, webhook: WebhookRecord, secret: string) {
  if (sealer.open(webhook.sealed_secret, webhook.id) === secret) return {};
  return {
    sealed_secret: sealer.seal(secret, webhook.id),
    sealed_previous_secret: webhook.sealed_secret,
    previous_ends_at_ms: ports.clock.now() + SECRET_GRACE_MS,
  };
}

/** The defined fields of a change. */
const givenFields = (change: RetryPolicyChange = {}): WebhookRecord["retry_policy"] =>
  Object.fromEntries(
    Object.entries(change).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
  );
