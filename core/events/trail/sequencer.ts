import { Buffer } from "node:buffer";
import { type Tenant, tenantKey, tenantOf } from "../../../kv/store/collection.ts";
import { LogFollower, type Step } from "../../../kv/log/follow.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import {
  auditTreeId,
  type AuditTreeRecord,
  auditTrees,
  emptyTree,
} from "../../../kv/records/audit.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { App } from "../../work/work.ts";
import { makeCheckpoint } from "./checkpoints.ts";
import { appendIds, GROUP, sortIds } from "./ids.ts";
import { leafHashes } from "../../protocol/checkpoints/merkle.ts";
import { timesAfter } from "./places.ts";
import { growTiles } from "./tiles.ts";

/** How often a log that grows gets a checkpoint that witnesses see. */
const WITNESS_MS = 60_000;
const EVENTS_PER_STEP = 2_048;
/** Rows that wait in memory to become leaves; a second of a busy log, 450 bytes each. */
const EVENTS_HELD = 16_384;
/** Logs that grow at once share their commits. */
const TENANTS_AT_ONCE = 64;
const NOTES_MAX = 10_000;

/** Tells whoever keeps checkpoints that there is a new one. */
export type Witness = (tenant: Tenant) => void;

/** Makes every event a leaf of its tenant's tree, off the path of requests. */
export class Sequencer {
  #follower: LogFollower | null = null;
  readonly #grown = new Set<string>();
  /** The newest note of each log. */
  readonly #notes = new RecentMap<string>(NOTES_MAX);
  readonly #witnesses: Witness[] = [];
  readonly #sorting = new Set<Promise<void>>();
  #cancel: (() => void) | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(private readonly app: () => App) {}

  /** Takes up what an earlier process left, and follows every log. */
  start(): void {
    const { store, log } = this.app();
    this.#follower = new LogFollower(store, log, {
      name: "audit",
      lazy: true,
      holdsEvents: EVENTS_HELD,
      eventsPerStep: EVENTS_PER_STEP,
      tenantsAtOnce: TENANTS_AT_ONCE,
      wants: () => true,
      place: async (db, tenant) =>
        (await db.get(auditTrees, tenant, auditTreeId(tenant)))?.size ?? 0,
      cares: () => Promise.resolve(true),
      step: (tx, tenant, events) => this.#grow(tx, tenant, events),
    }, (error) => this.#complain(error));
    this.#follower.wake();
  }

  /** Looks for what another instance has left. */
  wake(): void {
    if (!this.#stopped) this.#follower?.wake();
  }

  /** Calls `witness` after each checkpoint that is made for keeping. */
  onCheckpoint(witness: Witness): void {
    this.#witnesses.push(witness);
  }

  /**
   * Resolves when every event that was committed before the call is a leaf; answers the tree. Of a log that
   * somebody has cut this is the tree before the cut, so that it can still be shown.
   */
  async reach(tenant: Tenant): Promise<AuditTreeRecord> {
    const { log, store } = this.app();
    await log.flush();
    await this.#follower!.catchUp(tenant).catch((error) => this.#complain(error));
    return await store.get(auditTrees, tenant, auditTreeId(tenant)) ?? emptyTree(tenant);
  }

  /** What a webhook's delivery carries: the newest checkpoint that was made here, for its receiver to keep. */
  witnessHeader(tenant: Tenant): Readonly<Record<string, string>> {
    const note = this.#notes.get(tenantKey(tenant));
    return note === undefined ? {} : { "X-Audit-Checkpoint": Buffer.from(note).toString("base64") };
  }

  /** Resolves when nothing is being made. */
  async idle(): Promise<void> {
    await this.#follower?.idle();
    while (this.#sorting.size > 0) await Promise.all(this.#sorting);
    await this.#running;
  }

  /** Follows no more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.idle();
  }

  async #grow(tx: Tx, tenant: Tenant, events: readonly Sequenced[]): Promise<Step> {
    const tree = await tx.get(auditTrees, tenant, auditTreeId(tenant)) ?? emptyTree(tenant);
    const { size } = tree;
    // Read between another step's commit and this one's.
    const known = events.filter(({ seq }) => seq <= size).length;
    if (known > 0) return { done: known, part: "" };
    if (events.at(-1)!.seq !== size + events.length) {
      throw new Error(`the log of ${tree.id} has a gap after ${size}`);
    }
    const rows = events.map(({ json }) => json);
    const leaves = await growTiles(tx, tenant, tree, leafHashes(rows));
    const ids = appendIds(tx, tenant, tree, rows);
    const grown = size + events.length;
    const times = timesAfter(tree, events);
    tx.put(auditTrees, tenant, { ...tree, ...times, size: grown, leaves, ids });
    tx.afterCommit(() => this.#hasGrown(tenant, size, grown));
    return { done: events.length, part: "" };
  }

  #hasGrown(tenant: Tenant, from: number, to: number): void {
    if (Math.floor(to / GROUP) > Math.floor(from / GROUP)) {
      const sorting = sortIds(this.app(), tenant, to)
        .catch((error) => this.#complain(error))
        .finally(() => this.#sorting.delete(sorting));
      this.#sorting.add(sorting);
    }
    this.#grown.add(tenantKey(tenant));
    if (this.#stopped) return;
    this.#cancel ??= this.app().ports.clock.after(WITNESS_MS, () => {
      this.#cancel = null;
      this.#running = this.#tellAll().finally(() => this.#running = null);
    });
  }

  /** One log after the other, so that requests have their turns in between. */
  async #tellAll(): Promise<void> {
    const grown = [...this.#grown].map(tenantOf);
    this.#grown.clear();
    for (const tenant of grown) {
      try {
        const checkpoint = await makeCheckpoint(this.app(), tenant);
        this.#notes.set(tenantKey(tenant), checkpoint.note);
        for (const witness of this.#witnesses) witness(tenant);
      } catch (error) {
        this.#complain(error);
      }
    }
  }

  #complain(error: unknown): void {
    this.app().ports.log.error("the audit tree could not grow", { error: String(error) });
  }
}
