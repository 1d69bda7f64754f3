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

const SCHEMA_KEY = ["~", "schema"];

/**
 * Brings the store to this program's schema.
 * @throws {Error} when the store was written by a newer program
 */
export async function migrate(
  store: Store,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const newest = migrations.at(-1)?.number ?? 0;
  const stored = await store.kv.get<number>(SCHEMA_KEY);
  if (stored.value === null) {
    await store.kv.atomic().check(stored).set(SCHEMA_KEY, newest).commit();
    return;
  }
  if (stored.value > newest) {
    throw new Error(
      `this store has schema ${stored.value}, this program knows ${newest}: start a newer Relay`,
    );
  }
  for (const { number, run } of migrations.filter(({ number }) => number > stored.value!)) {
    await run(store);
    await store.kv.set(SCHEMA_KEY, number);
  }
}
