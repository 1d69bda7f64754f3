import type { z } from "zod";

/** Whose data it is. Every record lives under one, so an unscoped read cannot be written. */
export interface Tenant {
  readonly org: string;
  readonly space: "live" | "test";
}

/** The tenant of what belongs to the installation: users by email, signing keys, plans. */
export const SYSTEM: Tenant = { org: "~system", space: "live" };

/** One text for a tenant, for maps and log lines. */
export const tenantKey = (tenant: Tenant): string => `${tenant.org}/${tenant.space}`;

/** The tenant that `tenantKey` wrote. */
export function tenantOf(key: string): Tenant {
  const slash = key.lastIndexOf("/");
  return { org: key.slice(0, slash), space: key.slice(slash + 1) as Tenant["space"] };
}

/** What every record has. */
export type Row = { readonly id: string };

export type KeyParts = readonly (string | number)[];
type KeyOf<T> = (record: T) => KeyParts | null;

/**
 * How one kind of record is stored. Index entries hold ids, never copies, so there is one place a
 * value can be stale: nowhere. A key function that answers `null` leaves the record out.
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
  /** Instant in ms from which reads no longer see the record; the engine's own TTL only tidies up. */
  readonly expiresAt: (record: T) => number | null;
  /** Keeps a counter per tenant, so that a list can say how many there are without a scan. */
  readonly counted: boolean;
  /** How many records a sole writer keeps in memory; 0 for none. */
  readonly cached: number;
  /**
   * On a shared store, which takes few checks a commit, one check stands for all records of a tenant: a
   * change may depend on any number of them, and is tried again when any of them changes meanwhile.
   */
  readonly checkedPerTenant: boolean;
}

/** A collection, where it does not matter what its records are. */
export type Named = Pick<Collection<Row>, "name" | "cached">;
type Kind = Pick<Named, "name">;

const NEVER = () => null;

/** False when the records of a collection stay until they are deleted. */
export const canExpire = <T extends Row>(of: Collection<T>): boolean => of.expiresAt !== NEVER;

/**
 * Declares a collection; what is not said is empty.
 * @throws {TypeError} when two indexes share a name, and so their keys, or when a counted record may
 * expire, which nothing would count down
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
    ...spec,
  };
  const names = [of.unique, of.lookup, of.index, of.queue].flatMap((keys) => Object.keys(keys));
  if (new Set(names).size < names.length) throw new TypeError(`${of.name} names an index twice`);
  if (of.counted && canExpire(of)) throw new TypeError(`${of.name} expires and cannot be counted`);
  return of;
}

/** True when a record has that key in an index now: a pointer may be older than its record. */
export function holds<T>(keyOf: KeyOf<T> | undefined, record: T, key: KeyParts): boolean {
  const own = keyOf?.(record) ?? null;
  return own !== null && slotOf(own) === slotOf(key);
}

/** Records are shared between readers, so a write to one that was read is an error at once. */
export function deepFreeze<T>(value: T): T {
  // The engine's own wrappers and byte arrays cannot be frozen.
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (Object.isFrozen(value)) return value;
  for (const key in value) deepFreeze(value[key]);
  return Object.freeze(value);
}

/** Where a record lies. */
export const rowKey = (c: Kind, t: Tenant, id: string): KeyParts => [t.org, t.space, c.name, id];

/** The same as one text, for maps. */
export const rowSlot = (c: Kind, t: Tenant, id: string): string => slotOf(rowKey(c, t, id));

/** Where the entries of an index within a tenant begin. */
export const indexKey = (c: Kind, t: Tenant, index: string, key: KeyParts): KeyParts => [
  t.org,
  t.space,
  `${c.name}.${index}`,
  ...key,
];

/** Where the entries of a store-wide index begin. */
export const systemKey = (c: Kind, index: string, key: KeyParts): KeyParts =>
  indexKey(c, SYSTEM, index, key);

/** Where a tenant's counter of a collection lies. */
export const countKey = (c: Kind, t: Tenant): KeyParts => [t.org, t.space, `${c.name}#`];

/** What is written with each of a tenant's records that are checked together. */
export const tenantCheckKey = (c: Kind, t: Tenant): KeyParts => [t.org, t.space, `${c.name}!`];

/** What a counter says; nothing stands for none. */
export const countOf = (counter: Deno.KvU64 | null): number => Number(counter?.value ?? 0n);

/** One text for a key, for maps. No part holds a NUL: ids, names and numbers do not. */
export const slotOf = (key: Deno.KvKey): string => key.join("\0");
