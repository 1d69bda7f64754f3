import { type Appending, Appends } from "../log/appends.ts";
import { BatchedGets, type RawEntry } from "../engine/batched_gets.ts";
import { BoundedKv } from "../engine/bounded.ts";
import { type Entry, pointerGroup, ReadCache, wholeGroup } from "./cache.ts";
import { type Change, type CoalescedLine, type Mutation, NOTHING, writesOf } from "./change.ts";
import type { Clock } from "./clock.ts";
import {
  type Collection,
  countKey,
  countOf,
  deepFreeze,
  indexKey,
  type KeyParts,
  keyTextOf,
  type Named,
  type Row,
  rowKey,
  systemKey,
  type Tenant,
} from "./collection.ts";
import { Committer } from "../commit/commit.ts";
import { ContentionError } from "../engine/errors.ts";
import { CHECKS_MAX, CHECKS_MAX_SHARED } from "../engine/engine_limits.ts";
import { makeLine } from "../log/line.ts";
import type { Sequencer } from "../log/sequencer.ts";
import type { Found, Listed, ListOptions, Page, Reader, RowSource } from "./reader.ts";
import { ReadAhead } from "./read_ahead.ts";
import { SharedClock } from "../instances/shared_clock.ts";
import { scan } from "./scan.ts";
import { StoreHealth } from "../engine/health.ts";
import type { Trace } from "./trace.ts";
import { Tx } from "./tx.ts";
import { findRow, lookUpRow } from "./unique_reads.ts";

export interface StoreOptions {
  readonly clock: Clock;
  /** True when no other process writes here, so reads may be cached. */
  readonly sole: boolean;
  /** True when the engine has `enqueue`, as embedded stores do. */
  readonly hasQueue: boolean;
  /** True when the engine is a database server, whose calls may take for ever. */
  readonly remote?: boolean;
}

/** Each failed attempt is another writer's success, so this many writers may contend for one key. */
const ATTEMPTS_MAX = 1_000;
/** The highest total of a filtered list. */
const COUNT_MAX = 10_000;
/** How many tenants' complete lists of one collection are cached. */
const WHOLE_MAX = 64;

/** A store on Deno KV: reads, transactions, and the commits behind them. */
export class Store implements Reader, RowSource {
  readonly kv: Deno.Kv;
  /** The time of all instances on a shared store, otherwise this machine's. */
  readonly clock: Clock;
  readonly sharedClock: SharedClock;
  readonly sole: boolean;
  readonly hasQueue: boolean;
  readonly health = new StoreHealth();
  /** Reads chains of records, in which one names the next, in one round trip. */
  readonly ahead = new ReadAhead(this);
  readonly #cache: ReadCache | null;
  readonly #gets: BatchedGets | null;
  readonly #committer: Committer;
  #log: Sequencer = { sequence: () => null, waiting: () => {} };
  #closing = false;

  constructor(engine: Deno.Kv, options: StoreOptions) {
    this.sharedClock = new SharedClock(options.clock);
    this.clock = options.sole ? options.clock : this.sharedClock;
    this.kv = options.remote
      ? new BoundedKv(engine, options.clock, this.health) as unknown as Deno.Kv
      : engine;
    this.sole = options.sole;
    this.hasQueue = options.hasQueue;
    this.#cache = options.sole ? new ReadCache() : null;
    this.#gets = options.sole ? null : new BatchedGets(this.kv);
    const checksMax = options.sole ? CHECKS_MAX : CHECKS_MAX_SHARED;
    this.#committer = new Committer(this.kv, {
      clock: this.clock,
      checksMax,
      // One check is left for the mark that makes a commit to a server take effect once.
      mergedChecksMax: options.remote ? checksMax - 1 : checksMax,
      after: (mutations, versionstamp) => this.#changed(mutations, versionstamp),
      log: () => this.#log,
      denied: (checks) => checks.forEach(({ keyText }) => this.#cache?.drop(keyText)),
      health: this.health,
    });
  }

  /** Connects the log, which sequences the events that are committed here. */
  connectLog(log: Sequencer): void {
    this.#log = log;
  }

  /**
   * Runs `work` until it commits. It may run several times, so its only effects are those of `tx`. Commits are spans
   * of the trace.
   * @throws {ContentionError} {DuplicateError} {StoreUnavailableError} and whatever `work` throws
   */
  async transact<R>(work: (tx: Tx) => Promise<R> | R, trace: Trace | null = null): Promise<R> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const tx = new Tx(this);
      const result = await work(tx);
      if (tx.outdated) continue;
      const change = await tx.change();
      const versionstamp = writesOf(change) === 0 ? "" : await this.#commit(change, trace);
      if (versionstamp === null) continue;
      tx.committed(versionstamp);
      return result;
    }
    throw new ContentionError(`gave up after ${ATTEMPTS_MAX} attempts`);
  }

  /** Commits what `work` adds. It has no checks, so `work` runs once. */
  async add<R>(work: (to: Appending) => R, trace: Trace | null = null): Promise<R> {
    const appends = new Appends();
    const result = work(appends);
    const versionstamp = await this.#commit(appends.change(), trace);
    appends.committed(versionstamp!);
    return result;
  }

  /** Appends one event row in the next group commit. */
  async append(
    tenant: Tenant,
    type: string,
    json: string,
    trace: Trace | null = null,
  ): Promise<void> {
    const line = makeLine(tenant, type, json);
    const tenants = [line.owner];
    await this.#commit({ ...NOTHING, lines: [line], lineBytes: line.bytes, tenants }, trace);
  }

  /** Commits a line of a value that all callers of the commit share. Returns the versionstamp. */
  async coalesce(line: CoalescedLine, trace: Trace | null = null): Promise<string> {
    const versionstamp = await this.#commit({ ...NOTHING, coalesced: [line] }, trace);
    return versionstamp!;
  }

  #commit(change: Change, trace: Trace | null): Promise<string | null> {
    const span = trace?.child("commit");
    const committed = this.#committer.submit(change);
    span?.endWith(committed);
    return committed;
  }

  get<T extends Row>(of: Collection<T>, tenant: Tenant, id: string): Promise<T | null> {
    const key = rowKey(of, tenant, id);
    const known = of.cached > 0 ? this.peek(of, keyTextOf(key)) : undefined;
    const live = (value: T | null) => value !== null && this.isLive(of, value) ? value : null;
    return known === undefined
      ? this.entry(of, key).then(({ value }) => live(value as T | null))
      : Promise.resolve(live(known));
  }

  find<T extends Row>(
    of: Collection<T>,
    tenant: Tenant,
    index: string,
    key: KeyParts,
  ): Promise<T | null> {
    return findRow(this, of, tenant, index, key);
  }

  lookup<T extends Row>(
    of: Collection<T>,
    index: string,
    key: KeyParts,
  ): Promise<Found<T> | null> {
    return lookUpRow(this, of, index, key);
  }

  async list<T extends Row>(
    of: Collection<T>,
    tenant: Tenant,
    options: ListOptions,
  ): Promise<Page<T>> {
    const base = options.index === undefined
      ? [tenant.org, tenant.space, of.name]
      : indexKey(of, tenant, options.index, options.prefix ?? []);
    const locate = (key: Deno.KvKey) => ({ tenant, id: String(key.at(-1)) });
    const { items, cursor } = await scan(this, of, base, options, locate);
    return { items: items.map(({ record }) => record), cursor };
  }

  /**
   * All records of a tenant by id, at most `most`, of a collection whose records never expire. The answer is
   * cached when there are fewer. Like a list it is not checked.
   */
  async all<T extends Row>(
    of: Collection<T>,
    tenant: Tenant,
    most: number,
  ): Promise<readonly T[]> {
    const read = async (): Promise<Entry> => {
      const { items } = await this.list(of, tenant, { limit: most });
      return { value: deepFreeze(items), versionstamp: items.length < most ? "" : null };
    };
    const [group, keyText] = [wholeGroup(of.name), keyTextOf([tenant.org, tenant.space, of.name])];
    const cache = of.cached === 0 ? null : this.#cache;
    const { value } = cache?.get(group, keyText) ??
      await (cache?.load(group, WHOLE_MAX, keyText, read) ?? read());
    return value as readonly T[];
  }

  /** Live records of every tenant by a store-wide index; with `before` only those below that key. */
  queued<T extends Row>(
    of: Collection<T>,
    index: string,
    options: Omit<ListOptions, "index" | "offset"> & { before?: KeyParts },
  ): Promise<Page<Listed<T>>> {
    const base = systemKey(of, index, options.prefix ?? []);
    const end = options.before && systemKey(of, index, options.before);
    return scan(this, of, base, options, (key) => {
      const [org, space, id] = key.slice(-3) as [string, Tenant["space"], string];
      return { tenant: { org, space }, id };
    }, end);
  }

  async count(of: Named, tenant: Tenant): Promise<number> {
    return countOf((await this.raw(countKey(of, tenant))).value as Deno.KvU64 | null);
  }

  async countBy(of: Named, tenant: Tenant, index: string, prefix: KeyParts): Promise<number> {
    const selector = { prefix: indexKey(of, tenant, index, prefix) };
    let n = 0;
    for await (const _ of this.kv.list(selector, { limit: COUNT_MAX, batchSize: 500 })) n++;
    return n;
  }

  isLive<T extends Row>(of: Collection<T>, value: T): boolean {
    const expiresAt = of.expiresAt(value);
    return expiresAt === null || this.clock.now() < expiresAt;
  }

  /** The cached record of the row with this key, or undefined when it must be read. */
  peek<T extends Row>(of: Collection<T>, keyText: string): T | undefined {
    return this.#cache?.get(of.name, keyText)?.value as T | undefined;
  }

  /** One row as stored, through the cache. */
  entry<T extends Row>(of: Collection<T>, key: KeyParts): Promise<Entry> {
    return this.#load(of.name, of.cached, key, (value) => {
      const record = of.schema.parse(value);
      return of.cached > 0 ? deepFreeze(record) : record;
    });
  }

  /** One entry of a unique index, through the cache. */
  pointer(of: Named, key: KeyParts): Promise<Entry> {
    return this.#load(pointerGroup(of), of.cached, key, (value) => value);
  }

  async point(of: Named, key: KeyParts): Promise<unknown> {
    return (await this.pointer(of, key)).value;
  }

  /** A key as the engine has it now. On a shared store, reads that begin together make one round trip. */
  raw(key: KeyParts): Promise<RawEntry> {
    return this.#gets === null ? this.kv.get(key) : this.#gets.get(key);
  }

  /** Calls `listener` with the time that each commit took, in ms. */
  onCommit(listener: (ms: number) => void): void {
    this.#committer.onCommit = listener;
  }

  /** How many records of each collection the read cache dropped to make room; none without a cache. */
  cacheEvictions(): ReadonlyMap<string, number> {
    return this.#cache?.evictions() ?? new Map();
  }

  /** Resolves when no commit is queued or in flight. */
  idle(): Promise<void> {
    return this.#committer.idle();
  }

  /** True once `close` was called: retries are pointless then. */
  get closing(): boolean {
    return this.#closing;
  }

  /** Commits what is queued and closes the engine; later changes fail. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#committer.close();
    this.kv.close();
  }

  async #load(
    group: string,
    limit: number,
    key: KeyParts,
    parse: (value: unknown) => unknown,
  ): Promise<Entry> {
    const read = async (): Promise<Entry> => {
      const { value, versionstamp } = await this.raw(key);
      return { value: value === null ? null : parse(value), versionstamp };
    };
    if (this.#cache === null || limit === 0) return await read();
    const keyText = keyTextOf(key);
    return this.#cache.get(group, keyText) ?? await this.#cache.load(group, limit, keyText, read);
  }

  #changed(mutations: readonly Mutation[], versionstamp: string | null): void {
    if (this.#cache === null) return;
    for (const mutation of mutations) {
      const { cache, keyText } = mutation;
      if (!cache) continue;
      const entry = versionstamp !== null && mutation.kind === "set"
        ? { value: mutation.value, versionstamp }
        : null;
      this.#cache.changed(keyText, cache.group, cache.limit, entry);
      this.#cache.changed(
        keyText.slice(0, keyText.lastIndexOf("\0")),
        wholeGroup(cache.group),
        0,
        null,
      );
    }
  }
}
