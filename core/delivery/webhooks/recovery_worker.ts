import type { KeyParts, Tenant } from "../../../kv/store/collection.ts";
import { everyQueued, indexKeys } from "../../../kv/store/iterate.ts";
import {
  deliveries,
  type DeliveryRecord,
  recoveries,
  type RecoveryRecord,
  type WebhookRecord,
  webhooks,
} from "../../../kv/records/webhook.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Store } from "../../../kv/store/store.ts";
import { type Clock, JobRunner, stepEach } from "../../ports/ports.ts";
import type { Context } from "../../context/context.ts";
import { isRecoverable, undeliveredKeyOf } from "./undelivered_index.ts";
import {
  batchOf,
  type DeliveryQueue,
  discarded,
  dropDelivery,
  requeued,
  writeDelivery,
} from "./ledger.ts";

/** Keys that one step reads, so that each step ends soon. */
const KEYS_PER_STEP = 2_000;
/** Recoveries read at once. */
const PAGE = 64;
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/** The deliveries of one step, and where the next step continues; null when there are no more. */
interface Piece {
  readonly ids: readonly string[];
  readonly cursor: KeyParts | null;
}

/** The recovery, ended now. */
export const finished = (
  clock: Pick<Clock, "now">,
  job: RecoveryRecord,
  state: "completed" | "cancelled",
): RecoveryRecord => {
  const now = clock.now();
  return { ...job, state, finished_at_ms: now, expires_at_ms: now + KEPT_MS };
};

/** The parts of the relay that a recovery uses. */
interface RecoveryParts extends Pick<Context, "store" | "ports"> {
  readonly queue: DeliveryQueue;
}

/**
 * Runs the recoveries, each a long change to many deliveries. The changes and the progress of a step commit
 * together: after a crash a recovery continues where it was, and no two processes do the same step.
 */
export const recoveryRunner = (parts: RecoveryParts): JobRunner =>
  new JobRunner({
    ports: parts.ports,
    failure: "a recovery was interrupted",
    search: stepEach(
      parts.ports,
      () => everyQueued(parts.store, recoveries, "running", { limit: PAGE }),
      ({ record }) => record.id,
      ({ tenant, record }) => stepRecovery(parts, tenant, record.id),
    ),
  });

/** One commit of a recovery. */
async function stepRecovery(parts: RecoveryParts, tenant: Tenant, id: string): Promise<void> {
  const { store, ports: { clock } } = parts;
  await store.transact(async (tx) => {
    const job = await tx.get(recoveries, tenant, id);
    if (job?.state !== "running") return;
    const webhook = await tx.get(webhooks, tenant, job.webhook_id);
    const rule = RULES[job.kind];
    if (!rule.goesOn(webhook)) {
      tx.put(recoveries, tenant, finished(clock, job, "cancelled"));
      return;
    }
    const { ids, cursor } = await rule.pick(store, tenant, job);
    const next = { ...job, cursor: [...cursor ?? job.cursor] };
    for (const deliveryId of ids) await rule.apply(parts, tx, tenant, deliveryId, next);
    tx.put(recoveries, tenant, cursor === null ? finished(clock, next, "completed") : next);
  });
}

interface Rule {
  /** False when the state of the webhook cancels the recovery. */
  readonly goesOn: (webhook: WebhookRecord | null) => boolean;
  readonly pick: (store: Store, tenant: Tenant, job: RecoveryRecord) => Promise<Piece>;
  /** Changes one delivery, and counts it in the job. */
  readonly apply: (
    parts: RecoveryParts,
    tx: Tx,
    tenant: Tenant,
    id: string,
    job: RecoveryRecord,
  ) => Promise<void>;
}

const RULES: Readonly<Record<RecoveryRecord["kind"], Rule>> = {
  release: {
    goesOn: (webhook) => webhook?.active === true,
    pick: (store, tenant, job) => pick(store, tenant, job, { index: "held", places: 2 }),
    async apply({ queue }, tx, tenant, id, job) {
      const held = await tx.get(deliveries, tenant, id);
      if (!held?.held) return;
      const keeps = Date.parse(held.event_at) >= job.since_ms;
      // A held delivery becomes due at its creation time, so it keeps its order and precedes newer deliveries.
      if (keeps) send(queue, tx, tenant, held, job, released(held));
      else discard(queue, tx, tenant, held, job);
    },
  },
  recover: {
    goesOn: (webhook) => webhook?.active === true,
    pick: (store, tenant, job) =>
      pick(store, tenant, job, {
        index: "undelivered",
        places: 3,
        start: [job.since_ms],
        end: [job.until_ms],
        wants: (key) => isRecoverable(key, job.states),
      }),
    async apply({ ports, queue }, tx, tenant, id, job) {
      const delivery = await tx.get(deliveries, tenant, id);
      if (delivery === null || !isRecoverable(undeliveredKeyOf(delivery), job.states)) return;
      send(queue, tx, tenant, delivery, job, requeued(delivery, ports.clock.now()));
    },
  },
  purge: {
    goesOn: () => true,
    pick: (store, tenant, job) => pick(store, tenant, job, { index: "log", places: 3 }),
    async apply(_, tx, tenant, id) {
      const delivery = await tx.getStored(deliveries, tenant, id);
      if (delivery !== null) dropDelivery(tx, tenant, delivery, "discarded");
    },
  },
};

/** The next keys of an index for a step; the first `places` parts are a key's position in it. */
async function pick(
  store: Store,
  tenant: Tenant,
  { webhook_id, cursor }: RecoveryRecord,
  { index, places, start, end, wants = () => true }: {
    index: "held" | "log" | "undelivered";
    places: number;
    start?: KeyParts;
    end?: KeyParts;
    wants?: (key: KeyParts) => boolean;
  },
): Promise<Piece> {
  const from = cursor.length > 0 ? cursor : start;
  const range = { prefix: [webhook_id], ...from && { start: from }, ...end && { end } };
  const ids: string[] = [];
  let place: KeyParts | null = null, seen = 0;
  for await (const key of indexKeys(store, deliveries, tenant, index, range)) {
    const at = key.slice(0, places);
    if (at.every((part, n) => part === cursor[n])) continue;
    if (ids.length === batchOf(store) || seen === KEYS_PER_STEP) return { ids, cursor: place };
    seen++;
    place = at;
    if (wants(key)) ids.push(String(key.at(-1)));
  }
  return { ids, cursor: null };
}

/** The held delivery, due again with the attempts that it has left. */
const released = (held: DeliveryRecord): DeliveryRecord => ({
  ...held,
  held: false,
  due_at_ms: held.created_at_ms,
});

function send(
  queue: DeliveryQueue,
  tx: Tx,
  tenant: Tenant,
  before: DeliveryRecord,
  job: RecoveryRecord,
  after: DeliveryRecord,
): void {
  writeDelivery(queue, tx, tenant, before, after);
  job.requeued++;
}

function discard(
  queue: DeliveryQueue,
  tx: Tx,
  tenant: Tenant,
  before: DeliveryRecord,
  job: RecoveryRecord,
): void {
  writeDelivery(queue, tx, tenant, before, discarded(before));
  job.discarded++;
}
