import { adopt, credentialInHand, endingWith, madeKind } from "../../access/access.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { webhooks } from "../../../kv/records/webhook.ts";
import type { Work, Writing } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { listPage, type Paging } from "../../../kv/store/paging.ts";
import { mustBeDialable, mustResolveOutside } from "../../ports/ports.ts";
import { unmaskHeaders } from "./custom_headers.ts";
import { WEBHOOK } from "./standing.ts";
import type { WebhookEventType } from "../../events/events.ts";
import type { RetryPolicy } from "../jobs/retry_policy.ts";
import { mustHaveValidHeaders, mustRead, ownedWebhook, WEBHOOKS_MAX } from "./checks.ts";
import { dropAttemptCounts } from "./attempt_counts.ts";
import { type RecoveryQueue, startRecovery } from "./recovery.ts";
import { type AttemptCounter, showWebhook } from "./show.ts";
import { newSecret } from "./signing.ts";

export interface NewWebhook {
  readonly name: string;
  readonly url: string;
  /** Generated when absent. */
  readonly secret?: string | undefined;
  readonly events: readonly WebhookEventType[];
  readonly headers: Readonly<Record<string, string>>;
  readonly retry_policy: RetryPolicy;
  readonly active: boolean;
}

/** Learns of tenants that have webhooks. */
interface Subscriptions {
  /** Makes fan-out read the tenant's log from now on. */
  subscribe(tenant: Tenant): void;
  /** Makes fan-out skip the events that the tenant's log holds now. */
  skip(tx: Tx, tenant: Tenant): Promise<void>;
}

/**
 * Creates a webhook. Only this answer holds a generated secret.
 * @throws {Fault} FORBIDDEN, VALIDATION_FAILED, INSUFFICIENT_SCOPES, CONFLICT
 */
export async function createWebhook(
  work: Writing,
  deliveries: Subscriptions & AttemptCounter,
  input: NewWebhook,
) {
  const { actor, log, ports, sealer, tx } = work;
  mustBeDialable(work, input.url);
  await mustResolveOutside(ports, input.url, actor.tenant.org);
  mustHaveValidHeaders(unmaskHeaders(input.headers, {}, "headers"));
  mustRead(actor.rights, input.events, "You");
  await log.flush();
  const after_seq = await log.head(actor.tenant);
  const existing = await tx.count(webhooks, actor.tenant);
  if (existing >= WEBHOOKS_MAX) {
    throw new Fault("CONFLICT", `There are already ${WEBHOOKS_MAX} webhooks. Delete one first.`);
  }
  const id = ports.entropy.id("whk");
  const secret = input.secret ?? newSecret(ports.entropy);
  // Before the commit, because its outcome may stay unknown, and fan-out must not miss a webhook that exists.
  deliveries.subscribe(actor.tenant);
  // No webhook receives the events before the first webhook, so fan-out need not read them.
  if (existing === 0) await deliveries.skip(tx, actor.tenant);
  const webhook = tx.insert(webhooks, actor.tenant, {
    id,
    name: input.name,
    url: input.url,
    active: input.active,
    events: [...input.events],
    sealed_secret: sealer.seal(secret, id),
    sealed_headers: sealer.seal(JSON.stringify(input.headers), id),
    retry_policy: input.retry_policy,
    sealed_previous_secret: null,
    previous_ends_at_ms: null,
    created_by: actor.userId,
    created_with: await credentialInHand(work),
    created_by_key: actor.kind === "api_key" ? actor.id : null,
    release_id: null,
    created_at_ms: ports.clock.now(),
    after_seq,
  });
  const shown = await showWebhook(work, deliveries, webhook);
  return { ...shown, ...(input.secret === undefined && { secret }) };
}

/** The caller's webhooks, oldest first. */
export async function listWebhooks(work: Work, deliveries: AttemptCounter, paging: Paging) {
  const { actor, db } = work;
  const { items, pagination } = await listPage(db, webhooks, actor.tenant, paging);
  const shown = await Promise.all(items.map((each) => showWebhook(work, deliveries, each)));
  return { webhooks: shown, pagination };
}

export async function getWebhook(work: Work, deliveries: AttemptCounter, id: string) {
  return await showWebhook(work, deliveries, await ownedWebhook(work, id));
}

/** Takes over a webhook that is suspended. @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES, FORBIDDEN, CONFLICT */
export const adoptWebhook = async (work: Writing, deliveries: AttemptCounter, id: string) =>
  await showWebhook(work, deliveries, await adopt(work, WEBHOOK, id));

/** Removes a webhook. Its waiting deliveries are dropped, and its delivery log is removed soon after. */
export async function deleteWebhook(work: Writing, queue: RecoveryQueue, id: string) {
  const webhook = await ownedWebhook(work, id);
  work.tx.delete(webhooks, work.actor.tenant, id);
  dropAttemptCounts(work.tx, work.actor.tenant, id);
  startRecovery(work, queue, webhook, { kind: "purge" });
  return { id, name: webhook.name, url: webhook.url };
}

/** Webhooks, as a cascade from the key that made them ends them. */
export const madeWebhooks = (queue: RecoveryQueue) =>
  madeKind({
    of: webhooks,
    right: "system:write",
    end: endingWith(
      "webhook_deleted",
      "webhook",
      (work, id) => deleteWebhook(work, queue, id),
      ({ name, url }) => ({ name, url }),
    ),
  });
