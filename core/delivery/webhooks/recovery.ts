import type { Tenant } from "../../../kv/store/collection.ts";
import {
  deliveries,
  type DeliveryState,
  recoveries,
  type RecoveryRecord,
  type WebhookRecord,
  webhooks,
} from "../../../kv/records/webhook.ts";
import { indexKeys } from "../../../kv/store/iterate.ts";
import type { Work, Writing } from "../../work/work.ts";
import { Accepted } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { finished } from "./recovery_worker.ts";
import { isRecoverable } from "./undelivered_index.ts";
import { mustBeEnabled, ownedWebhook } from "./checks.ts";

/** What a caller can recover, and the state of its deliveries. */
export const RECOVERABLE = {
  failed: "pending",
  exhausted: "exhausted",
  held: "held",
} as const satisfies Record<string, DeliveryState>;
export type Recoverable = keyof typeof RECOVERABLE;

/** The deliveries to recover, by their creation time in ms. */
export interface RecoveryRange {
  readonly since: number;
  readonly until?: number | undefined;
  readonly status: readonly Recoverable[];
}

/** The most deliveries that a dry run counts. */
const COUNT_MAX = 10_000;
/** Keys that a dry run reads. */
const KEYS_MAX = 100_000;
/** Recoveries of one webhook that may run at once. */
const RUNNING_MAX = 4;
/** Later than any instant. */
export const ENDLESS_MS = Number.MAX_SAFE_INTEGER;

/** Wakes the worker that runs recoveries. */
export interface RecoveryQueue {
  readonly recoveries: { wake(): void };
}

/** Records a recovery, which starts right after the commit. */
export function startRecovery(
  { actor, ports, tx }: Writing,
  { recoveries: worker }: RecoveryQueue,
  { id: webhook_id }: WebhookRecord,
  what: Pick<RecoveryRecord, "kind"> & Partial<RecoveryRecord>,
): RecoveryRecord {
  tx.afterCommit(() => worker.wake());
  return tx.insert(recoveries, actor.tenant, {
    id: ports.entropy.id("rcv"),
    webhook_id,
    state: "running",
    since_ms: 0,
    until_ms: ENDLESS_MS,
    states: [],
    cursor: [],
    requeued: 0,
    discarded: 0,
    created_at_ms: ports.clock.now(),
    finished_at_ms: null,
    expires_at_ms: null,
    ...what,
  });
}

/** Sends the deliveries of a time range again, each with all attempts of the policy. */
export async function recoverDeliveries(
  work: Writing,
  queue: RecoveryQueue,
  id: string,
  range: RecoveryRange,
) {
  const { actor, ports, tx } = work;
  const webhook = await ownedWebhook(work, id);
  mustBeEnabled(webhook);
  const running = await tx.list(recoveries, actor.tenant, {
    index: "webhook",
    prefix: [id],
    reverse: true,
    limit: 50,
  });
  if (running.items.filter(({ state }) => state === "running").length >= RUNNING_MAX) {
    throw new Fault(
      "CONFLICT",
      `${RUNNING_MAX} recoveries of this webhook are already running. Wait for one, or cancel ` +
        "one.",
    );
  }
  // The commit does not check the list, but it checks this record, so of two concurrent requests one reruns.
  tx.put(webhooks, actor.tenant, webhook);
  const { since, until, status } = range;
  const job = startRecovery(work, queue, webhook, {
    kind: "recover",
    since_ms: since,
    until_ms: until ?? ports.clock.now() + 1,
    states: status.map((name) => RECOVERABLE[name]),
  });
  emit(work, tx, actor.tenant, {
    type: "webhook_recovery_started",
    resource: { type: "webhook", id },
    details: {
      recovery_id: job.id,
      since: iso(since),
      until: iso(job.until_ms),
      status: [...status],
    },
  });
  return new Accepted({ matched: null, recovery: showRecovery(job) });
}

/** How many deliveries a recovery would send now, up to 10,000. */
export async function countRecoverable(work: Work, id: string, range: RecoveryRange) {
  const { actor } = work;
  await ownedWebhook(work, id);
  return { matched: await count(work, actor.tenant, id, range), recovery: null };
}

async function count(
  { store, ports }: Pick<Context, "store" | "ports">,
  tenant: Tenant,
  id: string,
  { since, until, status }: RecoveryRange,
): Promise<number> {
  const states = status.map((name) => RECOVERABLE[name]);
  const range = { prefix: [id], start: [since], end: [until ?? ports.clock.now() + 1] };
  let matched = 0, seen = 0;
  for await (const key of indexKeys(store, deliveries, tenant, "undelivered", range)) {
    if (isRecoverable(key, states)) matched++;
    if (matched === COUNT_MAX || ++seen === KEYS_MAX) break;
  }
  return matched;
}

/** The progress of a recovery. */
export async function getRecovery(work: Work, id: string, recoveryId: string) {
  return showRecovery(await ownedRecovery(work, id, recoveryId));
}

/** Stops a recovery; what it has sent stays sent. An ended recovery stays as it is. */
export async function cancelRecovery(work: Writing, id: string, recoveryId: string) {
  const { actor, ports, tx } = work;
  const job = await ownedRecovery(work, id, recoveryId);
  if (job.state !== "running") return showRecovery(job);
  const cancelled = tx.put(recoveries, actor.tenant, finished(ports.clock, job, "cancelled"));
  emit(work, tx, actor.tenant, {
    type: "webhook_recovery_cancelled",
    resource: { type: "webhook", id },
    details: { recovery_id: job.id, requeued: job.requeued },
  });
  return showRecovery(cancelled);
}

async function ownedRecovery(work: Work, id: string, recoveryId: string): Promise<RecoveryRecord> {
  await ownedWebhook(work, id);
  const job = await work.db.get(recoveries, work.actor.tenant, recoveryId);
  if (job !== null && job.webhook_id === id) return job;
  throw new Fault("NOT_FOUND", "There is no such recovery.");
}

const showRecovery = (job: RecoveryRecord) => ({
  id: job.id,
  webhook_id: job.webhook_id,
  kind: job.kind,
  state: job.state,
  requeued: job.requeued,
  discarded: job.discarded,
  created_at: iso(job.created_at_ms),
  finished_at: isoOrNull(job.finished_at_ms),
});
