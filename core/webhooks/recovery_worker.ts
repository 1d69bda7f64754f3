import type { KeyParts, Tenant } from "../../kv/store/collection.ts";
import { everyQueued } from "../../kv/store/pages.ts";
import {
  deliveries,
  type DeliveryRecord,
  type DeliveryState,
  recoveries,
  type RecoveryRecord,
  stateOf,
  type WebhookRecord,
  webhooks,
} from "../../kv/records/webhook.ts";
import type { Tx } from "../../kv/store/tx.ts";
import { indexKeys } from "../../kv/store/walk.ts";
import type { App } from "../work/work.ts";
import { Rounds } from "../ports/rounds.ts";
import { batchOf, discarded, dropDelivery, requeued, writeDelivery } from "./ledger.ts";

/** Keys that one step looks at, so that each ends soon. */
const KEYS_PER_STEP = 2_000;
/** Recoveries that are read at once. */
const RUNNING_READ = 64;
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/** Deliveries that a step takes up, and where the next one goes on; null when there are no more. */
interface Piece {
  readonly ids: readonly string[];
  readonly cursor: KeyParts | null;
}

/** A recovery that has come to its end. */
export const finished = (
  app: App,
  job: RecoveryRecord,
  state: "completed" | "cancelled",
): RecoveryRecord => {
  const now = app.ports.clock.now();
  return { ...job, state, finished_at_ms: now, expires_at_ms: now + KEPT_MS };
};

/**
 * Works through what must happen to many deliveries. A round is a step of each recovery that runs, in all
 * organizations: a long one does not keep the others waiting, nor does one that fails. What a step does and
 * how far it has come commit together, so a crash goes on where it was, and no two processes do the same
 * twice.
 */
export const recoveryRounds = (appOf: () => App): Rounds =>
  new Rounds({
    clock: () => appOf().ports.clock,
    complain: (error) =>
      appOf().ports.log.error("a recovery was interrupted", { error: String(error) }),
    async round(rounds) {
      const app = appOf();
      let more = false;
      const running = everyQueued(app.store, recoveries, "running", { limit: RUNNING_READ });
      for await (const { tenant, record: { id } } of running) {
        if (rounds.stopped) return false;
        try {
          await stepRecovery(app, tenant, id);
          more = true;
        } catch (error) {
          rounds.tryLater(error);
        }
      }
      return more;
    },
  });

/** One commit of a recovery. */
async function stepRecovery(app: App, tenant: Tenant, id: string): Promise<void> {
  await app.store.transact(async (tx) => {
    const job = await tx.get(recoveries, tenant, id);
    if (job?.state !== "running") return;
    const webhook = await tx.get(webhooks, tenant, job.webhook_id);
    const rule = RULES[job.kind];
    if (!rule.goesOn(webhook)) {
      tx.put(recoveries, tenant, finished(app, job, "cancelled"));
      return;
    }
    const { ids, cursor } = await rule.pick(app, tenant, job);
    const next = { ...job, cursor: [...cursor ?? job.cursor] };
    for (const deliveryId of ids) await rule.apply(app, tx, tenant, deliveryId, next);
    tx.put(recoveries, tenant, cursor === null ? finished(app, next, "completed") : next);
  });
}

interface Rule {
  readonly goesOn: (webhook: WebhookRecord | null) => boolean;
  readonly pick: (app: App, tenant: Tenant, job: RecoveryRecord) => Promise<Piece>;
  /** Deals with one delivery, and counts it in the job. */
  readonly apply: (
    app: App,
    tx: Tx,
    tenant: Tenant,
    id: string,
    job: RecoveryRecord,
  ) => Promise<void>;
}

const RULES: Readonly<Record<RecoveryRecord["kind"], Rule>> = {
  release: {
    goesOn: (webhook) => webhook?.active === true,
    pick: (app, tenant, job) => pick(app, tenant, job, { index: "held", places: 2 }),
    async apply(app, tx, tenant, id, job) {
      const held = await tx.get(deliveries, tenant, id);
      if (!held?.held) return;
      const keeps = Date.parse(held.event_at) >= job.since_ms;
      // Their own time keeps them before what happens meanwhile, and in order among themselves.
      if (keeps) send(app, tx, tenant, held, job, released(held));
      else discard(app, tx, tenant, held, job);
    },
  },
  recover: {
    goesOn: (webhook) => webhook?.active === true,
    pick: (app, tenant, job) =>
      pick(app, tenant, job, {
        index: "undelivered",
        places: 3,
        start: [job.since_ms],
        end: [job.until_ms],
        wants: (key) => isRecoverable(key, job.states),
      }),
    async apply(app, tx, tenant, id, job) {
      const delivery = await tx.get(deliveries, tenant, id);
      if (delivery === null || !isRecoverable(keyOf(delivery), job.states)) return;
      send(app, tx, tenant, delivery, job, requeued(delivery, app.ports.clock.now()));
    },
  },
  purge: {
    goesOn: () => true,
    pick: (app, tenant, job) => pick(app, tenant, job, { index: "log", places: 3 }),
    async apply(_, tx, tenant, id) {
      const delivery = await tx.getStored(deliveries, tenant, id);
      if (delivery !== null) dropDelivery(tx, tenant, delivery, "discarded");
    },
  },
};

/** True for a key of the undelivered whose delivery is no test and in one of the states; pending ones have failed. */
export function isRecoverable(key: KeyParts, states: readonly string[]): boolean {
  const [, seq, , status, state] = key as UndeliveredKey;
  if (seq === 0 || !states.includes(state)) return false;
  return state !== "pending" || status === "failed" || status === "timed_out";
}

/** What a key of the undelivered says behind its webhook: where it stands, and what a filter asks for. */
export type UndeliveredKey = readonly [
  createdMs: number,
  seq: number,
  id: string,
  status: DeliveryRecord["status"],
  state: DeliveryState,
  type: string,
];

const keyOf = (d: DeliveryRecord): UndeliveredKey => [
  d.created_at_ms,
  d.event_seq,
  d.id,
  d.status,
  stateOf(d),
  d.event_type,
];

/** The next keys of an index that a step takes up; the first `places` parts are a key's place in it. */
async function pick(
  app: App,
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
  for await (const key of indexKeys(app.store, deliveries, tenant, index, range)) {
    const at = key.slice(0, places);
    if (at.every((part, n) => part === cursor[n])) continue;
    if (ids.length === batchOf(app.store) || seen === KEYS_PER_STEP) return { ids, cursor: place };
    seen++;
    place = at;
    if (wants(key)) ids.push(String(key.at(-1)));
  }
  return { ids, cursor: null };
}

/** Goes on where it was held: in the middle of its ladder, or at the beginning. */
const released = (held: DeliveryRecord): DeliveryRecord => ({
  ...held,
  held: false,
  due_at_ms: held.created_at_ms,
});

function send(
  app: App,
  tx: Tx,
  tenant: Tenant,
  before: DeliveryRecord,
  job: RecoveryRecord,
  after: DeliveryRecord,
): void {
  writeDelivery(app, tx, tenant, before, after);
  job.requeued++;
}

function discard(
  app: App,
  tx: Tx,
  tenant: Tenant,
  before: DeliveryRecord,
  job: RecoveryRecord,
): void {
  writeDelivery(app, tx, tenant, before, discarded(before));
  job.discarded++;
}
