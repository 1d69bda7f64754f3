import { type Appending, Appends } from "../log/appends.ts";
import { cacheOf, type Entry, pointerCacheOf } from "./cache.ts";
import {
  type Change,
  type Check,
  checkOf,
  type CoalescedLine,
  deleteKey,
  type Mutation,
  setKey,
  sumKey,
} from "./change.ts";
import {
  ANNOUNCEMENT,
  type Collection,
  countKey,
  countOf,
  deepFreeze,
  type KeyParts,
  keyTextOf,
  type Named,
  type Row,
  rowKey,
  rowKeyText,
  type Tenant,
  tenantCheckKey,
} from "./collection.ts";
import { EMPTY, entriesOf, type IndexEntry, sameKey, samePointer } from "./entries.ts";
import { DuplicateError } from "../engine/errors.ts";
import { findRow, lookUpRow } from "./unique_reads.ts";
import { DELAY_MS_MAX } from "../engine/engine_limits.ts";
import { roughBytes } from "./load.ts";
import type { Found, ListOptions, Page, Reader, RowSource } from "./reader.ts";

interface Write {
  readonly of: Collection<Row>;
  readonly tenant: Tenant;
  readonly id: string;
  readonly value: Row | null;
  /** True when the row is new, so it is not read first. */
  readonly fresh: boolean;
}

/** A write, with its record's index entries before and after. */
interface Step {
  readonly write: Write;
  readonly before: Row | null;
  readonly old: readonly IndexEntry[];
  readonly next: readonly IndexEntry[];
}

const ONE_LESS = 0xffff_ffff_ffff_ffffn; // the engine's sums wrap at 2^64
/** The engine drops a record this long after its expiry, at the earliest. */
export const EXPIRY_SLACK_MS = 60 * 60 * 1000;

/** A transaction: each point read becomes a check; writes, events and alarms wait for the commit. */
export class Tx implements Reader, Appending {
  readonly #checks = new Map<string, Check>();
  readonly #seen = new Map<string, unknown>();
  readonly #writes = new Map<string, Write>();
  readonly #extra: Mutation[] = [];
  readonly #appends = new Appends();
  readonly #alarms: number[] = [];
  #reorderable = false;
  #outdated = false;

  constructor(readonly store: RowSource) {}

  async get<T extends Row>(of: Collection<T>, tenant: Tenant, id: string): Promise<T | null> {
    const value = await this.getStored(of, tenant, id);
    return value !== null && this.store.isLive(of, value) ? value : null;
  }

  /** The record, also when it has expired and is still stored. */
  getStored<T extends Row>(of: Collection<T>, tenant: Tenant, id: string): Promise<T | null> {
    const staged = this.#writes.get(rowKeyText(of, tenant, id));
    const value = staged ? Promise.resolve(staged.value) : this.#row(of, tenant, id);
    return value as Promise<T | null>;
  }

  /**
   * Seeds the transaction with a row that the caller has just read or written: it is checked as if read here.
   * A change that is retried must read instead.
   */
  seed<T extends Row>(of: Collection<T>, tenant: Tenant, record: T, versionstamp: string): void {
    const key = rowKey(of, tenant, record.id);
    const keyText = keyTextOf(key);
    if (this.#seen.has(keyText)) return;
    this.#checks.set(keyText, { key, keyText, versionstamp });
    this.#seen.set(keyText, record);
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

  /** Lists are not checked and lack this transaction's writes: get a row before acting on it. */
  list<T extends Row>(of: Collection<T>, tenant: Tenant, options: ListOptions): Promise<Page<T>> {
    return this.store.list(of, tenant, options);
  }

  /** Checked like a record, so of two transactions that take the last allowed place, one retries. */
  async count(of: Named, tenant: Tenant): Promise<number> {
    const key = countKey(of, tenant);
    return countOf(await this.#read(key, () => this.store.raw(key)) as Deno.KvU64 | null);
  }

  countBy(of: Named, tenant: Tenant, index: string, prefix: KeyParts): Promise<number> {
    return this.store.countBy(of, tenant, index, prefix);
  }

  /** Writes a record, new or changed. */
  put<T extends Row>(of: Collection<T>, tenant: Tenant, record: NoInfer<T>): T {
    return this.#stage(of, tenant, record, false);
  }

  /** Writes a record under a new random id, without a read or a check. */
  insert<T extends Row>(of: Collection<T>, tenant: Tenant, record: NoInfer<T>): T {
    return this.#stage(of, tenant, record, true);
  }

  /**
   * Writes a changed record without validating it against its schema, unless the collection is cached. The
   * caller has built it of validated parts.
   */
  rewrite<T extends Row>(of: Collection<T>, tenant: Tenant, record: NoInfer<T>): T {
    return this.#stage(of, tenant, record, false, of.cached === 0);
  }

  delete<T extends Row>(of: Collection<T>, tenant: Tenant, id: string): void {
    const write = { of: erase(of), tenant, id, value: null, fresh: false };
    this.#writes.set(rowKeyText(of, tenant, id), write);
  }

  /** Deletes a record of a collection without indexes, without reading or checking it. */
  drop(of: Named, tenant: Tenant, id: string): void {
    this.#extra.push({ ...deleteKey(rowKey(of, tenant, id)), ...cacheOf(of) });
  }

  /** Appends one event row, as canonical JSON, to the tenant's log. */
  append(tenant: Tenant, type: string, json: string): void {
    this.#appends.append(tenant, type, json);
  }

  /** The distinct types of the events appended so far. */
  eventTypes(): string[] {
    return this.#appends.eventTypes();
  }

  /** Adds a line to a value that all callers of the commit share; `coalescedLine` makes one. */
  coalesce(line: CoalescedLine): void {
    this.#appends.coalesce(line);
  }

  /** Makes the engine wake the job runner `delayMs` after the commit, if it has a queue. */
  alarm(delayMs: number): void {
    if (this.store.hasQueue) this.#alarms.push(Math.min(Math.max(0, delayMs), DELAY_MS_MAX));
  }

  /**
   * Lets this change be committed before earlier ones that touch other keys. A change with events, coalesced
   * lines or alarms keeps its place.
   */
  allowReordering(): void {
    this.#reorderable = true;
  }

  /** Runs `task` once, after the commit succeeds. */
  afterCommit(task: (versionstamp: string) => void): void {
    this.#appends.afterCommit(task);
  }

  /** Runs the change again instead of committing it, because what it began with is outdated. */
  retry(): void {
    this.#outdated = true;
  }

  get outdated(): boolean {
    return this.#outdated;
  }

  /** Adds a check of one of kv's own keys. */
  check(key: Deno.KvKey, versionstamp: string | null): void {
    const check = checkOf(key, versionstamp);
    this.#checks.set(check.keyText, check);
  }

  /** Adds mutations of kv's own keys. */
  stage(...mutations: Mutation[]): void {
    this.#extra.push(...mutations);
  }

  /** The checks and writes of this transaction, as the committer takes them. */
  async change(): Promise<Change> {
    const mutations: Mutation[] = [];
    const steps = await Promise.all(
      [...this.#writes.values()].map(async (write) => {
        const { of, tenant, id, fresh } = write;
        return stepOf(write, fresh ? null : await this.#row(of, tenant, id));
      }),
    );
    // Releases come first: another record may take a released key in the same commit.
    for (const step of steps) await this.#release(mutations, step);
    const taken = new Set<string>();
    for (const step of steps) await this.#claim(mutations, taken, step);
    const tenantChecks = new Map(steps.flatMap(({ write: { of, tenant } }) => {
      const key = this.#tenantCheckKey(of, tenant);
      return key === null ? [] : [[keyTextOf(key), key] as const];
    }));
    for (const key of tenantChecks.values()) mutations.push(setKey(key, EMPTY, 16));
    if (!this.store.sole && steps.some(isAnnounced)) {
      mutations.push(setKey(ANNOUNCEMENT, EMPTY, 16));
    }
    const added = this.#appends.change();
    return {
      ...added,
      checks: [...this.#checks.values()],
      mutations: [...mutations, ...this.#extra],
      alarms: this.#alarms,
      reorderable: this.#reorderable &&
        added.lines.length + added.coalesced.length + this.#alarms.length === 0,
    };
  }

  /** Runs the tasks of `afterCommit`. */
  committed(versionstamp: string): void {
    this.#appends.committed(versionstamp);
  }

  #stage<T extends Row>(
    of: Collection<T>,
    tenant: Tenant,
    record: T,
    fresh: boolean,
    sound = fresh && of.cached === 0,
  ): T {
    // New records are not validated again; changed and cached ones are.
    const checked = sound ? record : of.schema.parse(record);
    const value = of.cached > 0 ? deepFreeze(checked) : checked;
    const keyText = rowKeyText(of, tenant, value.id);
    const isNew = fresh && !this.#writes.has(keyText);
    this.#writes.set(keyText, { of: erase(of), tenant, id: value.id, value, fresh: isNew });
    return value;
  }

  #row<T extends Row>(of: Collection<T>, tenant: Tenant, id: string): Promise<Row | null> {
    const key = rowKey(of, tenant, id);
    const load = () => this.store.entry(of, key);
    return this.#read(key, load, this.#tenantCheckKey(of, tenant)) as Promise<Row | null>;
  }

  /** The key that is checked in place of a row; null when the row itself is. */
  #tenantCheckKey<T extends Row>(of: Collection<T>, tenant: Tenant): KeyParts | null {
    return of.checkedPerTenant && !this.store.sole ? tenantCheckKey(of, tenant) : null;
  }

  /** The value of a unique index's entry, checked. */
  point(of: Named, key: KeyParts): Promise<unknown> {
    return this.#read(key, () => this.store.pointer(of, key));
  }

  /**
   * Reads a key once: a later, newer read would hide a lost race. A key that is checked in its place is read
   * first, so that no change between the two reads goes unseen.
   */
  async #read(
    key: KeyParts,
    load: () => Promise<Entry>,
    inPlace: KeyParts | null = null,
  ): Promise<unknown> {
    const keyText = keyTextOf(key);
    if (!this.#seen.has(keyText)) {
      if (inPlace !== null) await this.#read(inPlace, () => this.store.raw(inPlace));
      const { value, versionstamp } = await load();
      if (!this.#seen.has(keyText)) {
        if (inPlace === null) this.#checks.set(keyText, { key, keyText, versionstamp });
        this.#seen.set(keyText, value);
      }
    }
    return this.#seen.get(keyText);
  }

  /** Deletes the index entries that the old record had and the new one lacks. */
  async #release(out: Mutation[], { write: { of }, old, next }: Step): Promise<void> {
    for (const { key, value, unique } of old) {
      if (next.some((entry) => sameKey(entry.key, key))) continue;
      if (unique && !samePointer(await this.point(of, key), value)) continue;
      out.push({ kind: "delete", key, keyText: keyTextOf(key), ...(unique && pointerCacheOf(of)) });
    }
  }

  /** Writes the row and the index entries that the old record lacked. */
  async #claim(
    out: Mutation[],
    taken: Set<string>,
    { write: { of, tenant, id, value, fresh }, before, old, next }: Step,
  ): Promise<void> {
    const key = rowKey(of, tenant, id);
    if (of.counted && (before === null) !== (value === null)) {
      out.push(sumKey(countKey(of, tenant), value === null ? ONE_LESS : 1n));
    }
    if (value === null) {
      if (before !== null) {
        out.push({ kind: "delete", key, keyText: keyTextOf(key), ...cacheOf(of) });
      }
      return;
    }
    const expiresAt = of.expiresAt(value);
    const ttl = expiresAt === null ? {} : {
      expireIn: Math.max(0, expiresAt - this.store.clock.now()) + EXPIRY_SLACK_MS,
    };
    const bytes = roughBytes(value);
    out.push({
      kind: "set",
      key,
      keyText: keyTextOf(key),
      value,
      bytes,
      fresh,
      ...ttl,
      ...cacheOf(of),
    });
    // An entry expires with its record, so a new expiry rewrites it.
    const lasting = before !== null && of.expiresAt(before) === expiresAt;
    for (const entry of next) {
      const kept = lasting && old.some((earlier) => sameKey(earlier.key, entry.key));
      if (kept && !entry.unique) continue;
      const keyText = keyTextOf(entry.key);
      if (entry.unique && taken.has(keyText)) throw new DuplicateError(of.name, entry.name);
      if (entry.unique) taken.add(keyText);
      if (kept) continue;
      if (entry.unique) await this.#take(of, entry);
      const cache = entry.unique ? pointerCacheOf(of) : {};
      out.push({
        kind: "set",
        key: entry.key,
        keyText,
        value: entry.value,
        bytes: 128,
        ...ttl,
        ...cache,
      });
    }
  }

  /** @throws {DuplicateError} when another live record has the unique key */
  async #take(of: Collection<Row>, { key, name, value }: IndexEntry): Promise<void> {
    const holder = await this.point(of, key);
    if (holder === null || samePointer(holder, value)) return;
    const [org, space, rivalId] = Array.isArray(holder) ? holder : [key[0], key[1], holder];
    const tenant = { org, space } as Tenant;
    const rival = await this.get(of, tenant, rivalId as string);
    const has = rival !== null &&
      entriesOf(of, tenant, rival).some((entry) => sameKey(entry.key, key));
    if (has) throw new DuplicateError(of.name, name);
  }
}

const isAnnounced = ({ write: { of, value, fresh } }: Step): boolean =>
  of.announced === "deletions" ? value === null : of.announced === "changes" && !fresh;

const stepOf = (write: Write, before: Row | null): Step => ({
  write,
  before,
  old: before === null ? [] : entriesOf(write.of, write.tenant, before),
  next: write.value === null ? [] : entriesOf(write.of, write.tenant, write.value),
});

const erase = <T extends Row>(of: Collection<T>) => of as unknown as Collection<Row>;
