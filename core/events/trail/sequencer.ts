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
import { ContentionError, StoreUnavailableError } from "../../../kv/engine/errors.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { Background } from "../../ports/ports.ts";
import { type AuditTree, makeCheckpoint } from "./checkpoints.ts";
import { appendIds, GROUP, sortIds } from "./event_id_index.ts";
import { leafHashes } from "../../protocol/protocol.ts";
import { advanceTimes } from "./row_times.ts";
import { growTiles } from "./tiles.ts";

/** Its name among the followers of the logs. */
export const AUDIT_FOLLOWER = "audit";
/** How often a growing log gets a checkpoint for its witnesses. */
const CHECKPOINT_MS = 60_000;
const EVENTS_PER_STEP = 2_048;
/** Rows buffered in memory, about 450 bytes each: one second of a busy log. */
const BUFFERED_EVENTS = 16_384;
/** Logs that share a commit. */
const TENANTS_AT_ONCE = 64;
const NOTES_MAX = 10_000;

/** Appends every event to its tenant's Merkle tree, outside the request path. */
export class Sequencer implements AuditTree {
  #follower: LogFollower | null = null;
  /** Tenants whose trees grew since their last checkpoint. */
  readonly #grown = new Set<string>();
  /** The newest note of each log. */
  readonly #notes = new RecentMap<string>(NOTES_MAX);
  /** Its own tracker, because the sequencer stops last and may start tasks until then. */
  readonly #background: Background;
  #cancel: (() => void) | null = null;
  #stopped = false;

  constructor(
    private readonly relay: Pick<Context, "store" | "log" | "sealer" | "signals"> & {
      readonly ports: Pick<Context["ports"], "clock" | "log">;
    },
  ) {
    this.#background = new Background((name, error) =>
      relay.ports.log.error(`${name} failed`, { error: String(error) })
    );
  }

  /** Follows every log, from where an earlier process stopped. */
  start(): void {
    const { store, log } = this.relay;
    this.#follower = new LogFollower(store, log, {
      name: AUDIT_FOLLOWER,
      lazy: true,
      bufferedEvents: BUFFERED_EVENTS,
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

  /** Looks for events that another instance did not append. */
  wake(): void {
    if (!this.#stopped) this.#follower?.wake();
  }

  /**
   * Resolves with the tree once every event committed before the call is a leaf. If the log was truncated by
   * tampering, this is the tree before that, so it can still be shown.
   * @throws {StoreUnavailableError} {ContentionError} when the store prevents a step
   */
  async reach(tenant: Tenant): Promise<AuditTreeRecord> {
    const { log, store } = this.relay;
    await log.flush();
    try {
      await this.#follower!.catchUp(tenant);
    } catch (error) {
      if (error instanceof StoreUnavailableError || error instanceof ContentionError) throw error;
      this.#complain(error);
    }
    return await store.get(auditTrees, tenant, auditTreeId(tenant)) ?? emptyTree(tenant);
  }

  /** The header by which webhook receivers get the newest checkpoint made by this process. */
  witnessHeader(tenant: Tenant): Readonly<Record<string, string>> {
    const note = this.#notes.get(tenantKey(tenant));
    return note === undefined ? {} : { "X-Audit-Checkpoint": Buffer.from(note).toString("base64") };
  }

  /** Resolves when no append, sort or checkpoint is running. */
  async idle(): Promise<void> {
    await this.#follower?.idle();
    await this.#background.idle();
  }

  /** Stops following and waits for running work. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.idle();
  }

  async #grow(tx: Tx, tenant: Tenant, events: readonly Sequenced[]): Promise<Step> {
    const tree = await tx.get(auditTrees, tenant, auditTreeId(tenant)) ?? emptyTree(tenant);
    const { size } = tree;
    // Another step committed these events after they were read.
    const known = events.filter(({ seq }) => seq <= size).length;
    if (known > 0) return { done: known, part: "" };
    if (events.at(-1)!.seq !== size + events.length) {
      throw new Error(`the log of ${tree.id} has a gap after ${size}`);
    }
    const rows = events.map(({ json }) => json);
    const leaves = await growTiles(tx, tenant, tree, leafHashes(rows));
    const ids = appendIds(tx, tenant, tree, rows);
    const grown = size + events.length;
    const times = advanceTimes(tree, events);
    tx.put(auditTrees, tenant, { ...tree, ...times, size: grown, leaves, ids });
    tx.afterCommit(() => this.#hasGrown(tenant, size, grown));
    return { done: events.length, part: "" };
  }

  #hasGrown(tenant: Tenant, from: number, to: number): void {
    if (Math.floor(to / GROUP) > Math.floor(from / GROUP)) {
      this.#background.run("sorting event ids", () => sortIds(this.relay, tenant, to));
    }
    this.#grown.add(tenantKey(tenant));
    if (this.#stopped) return;
    this.#cancel ??= this.relay.ports.clock.after(CHECKPOINT_MS, () => {
      this.#cancel = null;
      this.#background.run("signing checkpoints", () => this.#signCheckpoints());
    });
  }

  /** Signs one log after the other, so that requests are served in between. */
  async #signCheckpoints(): Promise<void> {
    const grown = [...this.#grown].map(tenantOf);
    this.#grown.clear();
    for (const tenant of grown) {
      try {
        const checkpoint = await makeCheckpoint(this.relay, this, tenant);
        this.#notes.set(tenantKey(tenant), checkpoint.note);
        this.relay.signals.checkpointSigned.send(tenant);
      } catch (error) {
        this.#complain(error);
      }
    }
  }

  #complain(error: unknown): void {
    this.relay.ports.log.error("the audit tree could not grow", { error: String(error) });
  }
}
