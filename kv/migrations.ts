import type { Store } from "./store.ts";

/** One change of what is stored; `number` counts up from 1 and is never used again. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** Must be safe to run again: a crash may come before its number is written. */
  readonly run: (store: Store) => Promise<void>;
}

/** Every migration, oldest first. An empty store starts at the newest. */
export const MIGRATIONS: readonly Migration[] = [];

/** Where a store says which schema it has. */
export const SCHEMA_KEY = ["~", "schema"];

/** The schema of this program. */
export const newestSchema = (migrations: readonly Migration[] = MIGRATIONS): number =>
  migrations.at(-1)?.number ?? 0;

/** Refuses what a newer program wrote. @throws {Error} */
export function refuseNewer(what: string, schema: number, newest = newestSchema()): void {
  if (schema <= newest) return;
  throw new Error(
    `${what} has schema ${schema}, this program knows ${newest}: start a newer Relay`,
  );
}

/**
 * Brings the store to this program's schema.
 * @throws {Error} when the store was written by a newer program
 */
export async function migrate(
  store: Store,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const newest = newestSchema(migrations);
  const stored = await store.kv.get<number>(SCHEMA_KEY);
  if (stored.value === null) {
    await store.kv.atomic().check(stored).set(SCHEMA_KEY, newest).commit();
    return;
  }
  refuseNewer("this store", stored.value, newest);
  for (const { number, run } of migrations.filter(({ number }) => number > stored.value!)) {
    await run(store);
    await store.kv.set(SCHEMA_KEY, number);
  }
}
