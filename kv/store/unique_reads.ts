import { type Collection, holds, type KeyParts, type Named, type Row } from "./collection.ts";
import { indexKey, systemKey, type Tenant } from "./collection.ts";
import type { Found } from "./reader.ts";

/** Reads of unique entries and of records. */
interface PointReads {
  /** The value of a unique index's entry, or null. */
  point(of: Named, key: KeyParts): Promise<unknown>;
  get<T extends Row>(of: Collection<T>, tenant: Tenant, id: string): Promise<T | null>;
}

/** The live record that holds a unique key of a tenant, or null. */
export async function findRow<T extends Row>(
  reads: PointReads,
  of: Collection<T>,
  tenant: Tenant,
  index: string,
  key: KeyParts,
): Promise<T | null> {
  const id = await reads.point(of, indexKey(of, tenant, index, key));
  const record = id === null ? null : await reads.get(of, tenant, id as string);
  return record !== null && holds(of.unique[index], record, key) ? record : null;
}

/** The live record that holds a store-wide unique key, with its tenant, or null. */
export async function lookUpRow<T extends Row>(
  reads: PointReads,
  of: Collection<T>,
  index: string,
  key: KeyParts,
): Promise<Found<T> | null> {
  const entry = await reads.point(of, systemKey(of, index, key));
  if (entry === null) return null;
  const [org, space, id] = entry as [string, Tenant["space"], string];
  const tenant = { org, space };
  const record = await reads.get(of, tenant, id);
  return record !== null && holds(of.lookup[index], record, key) ? { tenant, record } : null;
}
