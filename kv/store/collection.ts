import type { z } from "zod";

/** An organization and its space. Every key begins with one, so an unscoped read cannot be written. */
export interface Tenant {
  readonly org: string;
  readonly space: "live" | "test";
}

/** The tenant of the installation's own records: signing keys, plans, organizations. */
export const SYSTEM: Tenant = { org: "~system", space: "live" };

/** A tenant as one string, for maps and log lines. */
export const tenantKey = (tenant: Tenant): string => `${tenant.org}/${tenant.space}`;

/** Parses a `tenantKey`. */
export function tenantOf(key: string): Tenant {
  const slash = key.lastIndexOf("/");
  return { org: key.slice(0, slash), space: key.slice(slash + 1) as Tenant["space"] };
}

/** The field that every record has. */
export type Row = { readonly id: string };

export type KeyParts = readonly (string | number)[];
type KeyOf<T> = (record: T) => KeyParts | null;

/**
 * How records of one kind are stored. Index entries hold ids, never copies, so they cannot hold stale
 * values. A key function that returns null leaves the record out of its index.
 */
export interface Collection<T extends Row> {
  readonly name: string;
  readonly schema: z.ZodType<T>;
  /** At most one live record per key within a tenant. */
  readonly unique: Readonly<Record<string, KeyOf<T>>>;
  /** At most one live record per key in the whole store, found without knowing its tenant. */
  readonly lookup: Readonly<Record<string, KeyOf<T>>>;
  /** Many records per key within a tenant, in key order and then id order. */
  readonly index: Readonly<Record<string, KeyOf<T>>>;
  /** Many records per key over all tenants, in key order: due jobs, linked agents. */
  readonly queue: Readonly<Record<string, KeyOf<T>>>;
  /** The instant in ms from which reads no longer return the record. The engine's TTL only frees space. */
  readonly expiresAt: (record: T) => number | null;
  /** True to keep a counter for each tenant, so that a list's total needs no scan. */
  readonly counted: boolean;
  /** How many records a sole writer caches; 0 for none. */
  readonly cached: number;
  /**
   * True to check all of a tenant's records by one key on a shared store, which takes few checks a commit. A
   * change may then depend on any number of them, and is retried when any of them changes meanwhile.
   */
  readonly checkedPerTenant: boolean;
  /** Which changes may end open connections, so that they wake the instances that share the store. */
  readonly announced: "changes" | "deletions" | null;
}

/** A collection of any kind of record. */
export type Named = Pick<Collection<Row>, "name" | "cached">;
type Kind = Pick<Named, "name">;

const NEVER = () => null;

/** False when the records of a collection stay until they are deleted. */
export const canExpire = <T extends Row>(of: Collection<T>): boolean => of.expiresAt !== NEVER;

/**
 * Declares a collection, with defaults for absent fields.
 * @throws {TypeError} when two indexes share a name, or when a counted collection has records that expire,
 * which nothing would count down
 */
export function collection<T extends Row>(
  spec: Pick<Collection<T>, "name" | "schema"> & Partial<Collection<T>>,
): Collection<T> {
  const of: Collection<T> = {
    unique: {},
    lookup: {},
    index: {},
    queue: {},
    expiresAt: NEVER,
    counted: false,
    cached: 0,
    checkedPerTenant: false,
    announced: null,
    ...spec,
  };
  const names = [of.unique, of.lookup, of.index, of.queue].flatMap((keys) => Object.keys(keys));
  if (new Set(names).size < names.length) {
    throw new TypeError(`two indexes of ${of.name} have the same name`);
  }
  if (of.counted && canExpire(of)) {
    throw new TypeError(`records of ${of.name} expire, so they cannot be counted`);
  }
  return of;
}

/** True when the record has that key now. The pointer that led to it may be older. */
export function holds<T>(keyOf: KeyOf<T> | undefined, record: T, key: KeyParts): boolean {
  const own = keyOf?.(record) ?? null;
  return own !== null && keyTextOf(own) === keyTextOf(key);
}

/** Freezes a cached record, which its readers share: changing it throws. */
export function deepFreeze<T>(value: T): T {
  // Byte arrays and the engine's wrappers cannot be frozen.
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (Object.isFrozen(value)) return value;
  for (const key in value) deepFreeze(value[key]);
  return Object.freeze(value);
}

/** The key of a record. */
export const rowKey = (c: Kind, t: Tenant, id: string): KeyParts => [t.org, t.space, c.name, id];

/** The same as one string, for maps. */
export const rowKeyText = (c: Kind, t: Tenant, id: string): string => keyTextOf(rowKey(c, t, id));

/** The prefix of an index's entries within a tenant. */
export const indexKey = (c: Kind, t: Tenant, index: string, key: KeyParts): KeyParts => [
  t.org,
  t.space,
  `${c.name}.${index}`,
  ...key,
];

/** The prefix of a store-wide index's entries. */
export const systemKey = (c: Kind, index: string, key: KeyParts): KeyParts =>
  indexKey(c, SYSTEM, index, key);

/** The key of a tenant's counter of a collection. */
export const countKey = (c: Kind, t: Tenant): KeyParts => [t.org, t.space, `${c.name}#`];

/** The key that is written with every change of a `checkedPerTenant` record, and checked in its place. */
export const tenantCheckKey = (c: Kind, t: Tenant): KeyParts => [t.org, t.space, `${c.name}!`];

/** The value of a counter; 0 when it is absent. */
export const countOf = (counter: Deno.KvU64 | null): number => Number(counter?.value ?? 0n);

/** Set on a shared store by each change that a collection announces. */
export const ANNOUNCEMENT: Deno.KvKey = ["~", "announcement"];

/** A key as one string, for maps. Ids, names and numbers hold no NUL. */
export const keyTextOf = (key: Deno.KvKey): string => key.join("\0");
