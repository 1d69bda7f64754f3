import {
  type Collection,
  indexKey,
  type KeyParts,
  type Row,
  systemKey,
  type Tenant,
} from "./collection.ts";

/** An entry of an index. */
export interface IndexEntry {
  readonly name: string;
  readonly key: KeyParts;
  readonly value: unknown;
  /** True for a unique key, which one record holds at a time. */
  readonly unique: boolean;
}

/** The value of an entry that holds no id. The engine stores bytes as they are and encodes other values. */
export const EMPTY = new Uint8Array(0);

/** Every index entry that a record has. */
export function entriesOf(of: Collection<Row>, tenant: Tenant, record: Row): IndexEntry[] {
  const out: IndexEntry[] = [];
  const { org, space } = tenant;
  for (const name in of.unique) {
    const key = of.unique[name]!(record);
    const at = key && indexKey(of, tenant, name, key);
    if (at) out.push({ name, key: at, value: record.id, unique: true });
  }
  for (const name in of.lookup) {
    const key = of.lookup[name]!(record);
    const at = key && systemKey(of, name, key);
    if (at) out.push({ name, key: at, value: [org, space, record.id], unique: true });
  }
  for (const name in of.index) {
    const key = of.index[name]!(record);
    const at = key && indexKey(of, tenant, name, [...key, record.id]);
    if (at) out.push({ name, key: at, value: EMPTY, unique: false });
  }
  for (const name in of.queue) {
    const key = of.queue[name]!(record);
    const at = key && systemKey(of, name, [...key, org, space, record.id]);
    if (at) out.push({ name, key: at, value: EMPTY, unique: false });
  }
  return out;
}

/** Compares keys without building strings: most entries of a changed record stay the same. */
export const sameKey = (a: KeyParts, b: KeyParts): boolean =>
  a.length === b.length && a.every((part, at) => part === b[at]);

/** True when two unique entries point to the same record. */
export const samePointer = (a: unknown, b: unknown): boolean =>
  JSON.stringify(a) === JSON.stringify(b);
