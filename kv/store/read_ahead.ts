import type { RawEntry } from "../engine/batched_gets.ts";
import {
  type Collection,
  type KeyParts,
  keyTextOf,
  type Named,
  type Row,
  rowKey,
  type Tenant,
} from "./collection.ts";
import { RecentMap } from "./recent.ts";
import type { Found, ListOptions, Page, Reader, RowSource } from "./reader.ts";
import { findRow, lookUpRow } from "./unique_reads.ts";

/** How many labels' keys are remembered. */
const LABELS_MAX = 8_192;
/** Keys of one label that are read ahead: two round trips' worth, which run side by side. */
const KEYS_MAX = 20;

/**
 * Reads in one round trip what would take several, because one record names the next. For each label it remembers
 * which keys the last run read, and begins the next run by reading all of them. Every value is read after
 * its run began. On a store with one writer, whose records are cached, it does nothing.
 */
export class ReadAhead {
  readonly #keys = new RecentMap<readonly KeyParts[]>(LABELS_MAX);

  constructor(private readonly store: Reader & RowSource) {}

  /** Runs `read`, which must not write and must be short, because its keys are read now. The label names it. */
  async run<R>(label: string, read: (db: Reader) => Promise<R>): Promise<R> {
    if (this.store.sole) return await read(this.store);
    const reads = new AheadReads(this.store, this.#keys.get(label) ?? []);
    const result = await read(reads);
    this.#keys.set(label, reads.used());
    return result;
  }
}

/** The reads of one run. A key that was read ahead is used once; later reads of it go to the store. */
class AheadReads implements Reader {
  readonly #ahead = new Map<string, Promise<RawEntry>>();
  readonly #used = new Map<string, KeyParts>();

  constructor(private readonly store: Reader & RowSource, keys: readonly KeyParts[]) {
    for (const key of keys) {
      const entry = store.raw(key);
      entry.catch(() => {}); // the reader of the entry gets the error
      this.#ahead.set(keyTextOf(key), entry);
    }
  }

  used(): KeyParts[] {
    return [...this.#used.values()].slice(0, KEYS_MAX);
  }

  async get<T extends Row>(of: Collection<T>, tenant: Tenant, id: string): Promise<T | null> {
    const { value } = await this.#read(rowKey(of, tenant, id));
    if (value === null) return null;
    const record = of.schema.parse(value);
    return this.store.isLive(of, record) ? record : null;
  }

  async point(_of: Named, key: KeyParts): Promise<unknown> {
    return (await this.#read(key)).value;
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

  list<T extends Row>(of: Collection<T>, tenant: Tenant, options: ListOptions): Promise<Page<T>> {
    return this.store.list(of, tenant, options);
  }

  count(of: Named, tenant: Tenant): Promise<number> {
    return this.store.count(of, tenant);
  }

  countBy(of: Named, tenant: Tenant, index: string, prefix: KeyParts): Promise<number> {
    return this.store.countBy(of, tenant, index, prefix);
  }

  #read(key: KeyParts): Promise<RawEntry> {
    const keyText = keyTextOf(key);
    this.#used.set(keyText, key);
    const ahead = this.#ahead.get(keyText);
    this.#ahead.delete(keyText);
    return ahead ?? this.store.raw(key);
  }
}
