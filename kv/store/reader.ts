import type { RawEntry } from "../engine/batched_gets.ts";
import type { Entry } from "./cache.ts";
import type { Clock } from "./clock.ts";
import type { Collection, KeyParts, Named, Row, Tenant } from "./collection.ts";

/** A record and its tenant. */
export interface Found<T> {
  readonly tenant: Tenant;
  readonly record: T;
}

/** A record of a list, with its versionstamp. */
export interface Listed<T> extends Found<T> {
  readonly versionstamp: string;
  /** Where the record after it begins. */
  readonly cursor: string;
}

export interface Page<T> {
  readonly items: T[];
  /** Where the next page begins; null at the end. */
  readonly cursor: string | null;
}

export interface ListOptions {
  /** The index that orders the list. Without it, records come by id, which is their order of creation. */
  readonly index?: string;
  readonly prefix?: KeyParts;
  readonly limit: number;
  /** How many records to skip. */
  readonly offset?: number;
  readonly cursor?: string | null;
  readonly reverse?: boolean;
}

/** The reads of a store or of a transaction. */
export interface Reader {
  /** The live record, or null. */
  get<T extends Row>(of: Collection<T>, tenant: Tenant, id: string): Promise<T | null>;
  /** The live record that holds a unique key of the tenant, or null. */
  find<T extends Row>(
    of: Collection<T>,
    tenant: Tenant,
    index: string,
    key: KeyParts,
  ): Promise<T | null>;
  /** The live record that holds a store-wide unique key, with its tenant, or null. */
  lookup<T extends Row>(
    of: Collection<T>,
    index: string,
    key: KeyParts,
  ): Promise<Found<T> | null>;
  /** Live records in order. */
  list<T extends Row>(of: Collection<T>, tenant: Tenant, options: ListOptions): Promise<Page<T>>;
  /** How many records a counted collection holds. */
  count(of: Named, tenant: Tenant): Promise<number>;
  /** How many entries an index has under a prefix, at most COUNT_MAX. */
  countBy(of: Named, tenant: Tenant, index: string, prefix: KeyParts): Promise<number>;
}

/** Stored rows and index entries, for transactions and scans. */
export interface RowSource extends Pick<Reader, "list" | "countBy"> {
  readonly kv: Deno.Kv;
  readonly clock: Clock;
  /** True when no other process writes here. */
  readonly sole: boolean;
  /** True when the engine has `enqueue`. */
  readonly hasQueue: boolean;
  isLive<T extends Row>(of: Collection<T>, value: T): boolean;
  /** A key as the engine has it now. */
  raw(key: KeyParts): Promise<RawEntry>;
  /** One row as stored. */
  entry<T extends Row>(of: Collection<T>, key: KeyParts): Promise<Entry>;
  /** One entry of a unique index. */
  pointer(of: Named, key: KeyParts): Promise<Entry>;
}
