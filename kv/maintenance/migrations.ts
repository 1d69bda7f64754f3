import { type Collection, indexKey, type Row } from "../store/collection.ts";
import { EXPIRY_SLACK_MS } from "../store/tx.ts";
import { commands } from "../records/command.ts";
import { devices, pairingCodes } from "../records/device.ts";
import { policyVersions } from "../records/gitops.ts";
import { invitations } from "../records/invitation.ts";
import { webhooks } from "../records/webhook.ts";
import type { Store } from "../store/store.ts";
import { everyTenant } from "./every_tenant.ts";
import { nameAgents } from "./name_agents.ts";
import { repackCommands } from "./repack_commands.ts";

/** One change of the stored schema. Numbers count up from 1 and are never reused. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** Must be safe to run twice: a crash may come before its number is stored. */
  readonly run: (store: Store) => Promise<void>;
}

/** All migrations, oldest first. A new store starts at the newest. */
const MIGRATIONS: readonly Migration[] = [
  {
    number: 1,
    name: "index policy versions by age",
    run: (store) => fillIndex(store, policyVersions, "age"),
  },
  {
    number: 2,
    name: "index records by the API key that made them",
    run: async (store) => {
      await fillIndex(store, webhooks, "made_with");
      await fillIndex(store, devices, "made_with");
      await fillIndex(store, pairingCodes, "made_with");
      await fillIndex(store, invitations, "made_with");
    },
  },
  {
    number: 3,
    name: "list commands by agent and by time",
    run: async (store) => {
      await fillIndex(store, commands, "agent");
      await fillIndex(store, commands, "open");
      await repackCommands(store);
    },
  },
  { number: 4, name: "give each agent a name that is unique in its space", run: nameAgents },
  {
    number: 5,
    name: "keep traces, MCP clients, phases of deliveries and signatures of witnesses in records",
    // Nothing changes, but programs before cannot read such records.
    run: () => Promise.resolve(),
  },
];

/** The key of a store's schema number. It is the newest one as soon as anything is migrated, so older programs refuse. */
export const SCHEMA_KEY = ["~", "schema"];

/** The key of the schema number from which an unfinished migration goes on; absent when none is under way. */
export const MIGRATING_KEY = ["~", "migrating"];

/** The newest schema that this program knows. */
export const newestSchema = (migrations: readonly Migration[] = MIGRATIONS): number =>
  migrations.at(-1)?.number ?? 0;

/** @throws {Error} when `schema` is newer than this program */
export function refuseNewer(what: string, schema: number, newest = newestSchema()): void {
  if (schema <= newest) return;
  throw new Error(
    `${what} has schema ${schema}, this program knows ${newest}: start a newer Relay`,
  );
}

/**
 * Migrates the store to this program's schema. After an interruption only a program of this schema or a newer one opens
 * the store, and goes on from where it was.
 * @throws {Error} when a newer program wrote the store
 */
export async function migrate(
  store: Store,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const { kv } = store;
  const newest = newestSchema(migrations);
  const [stored, reached] = await kv.getMany<[number, number]>([SCHEMA_KEY, MIGRATING_KEY]);
  if (stored.value === null) {
    const { ok } = await kv.atomic().check(stored).set(SCHEMA_KEY, newest).commit();
    return ok ? undefined : await migrate(store, migrations);
  }
  refuseNewer("this store", stored.value, newest);
  if (stored.value === newest && reached.value === null) return;
  const from = reached.value ?? stored.value;
  // Another instance may start at the same time, also one of another version.
  const { ok } = await kv.atomic().check(stored).check(reached)
    .set(SCHEMA_KEY, newest).set(MIGRATING_KEY, from).commit();
  if (!ok) return await migrate(store, migrations);
  for (const { number, run } of migrations.filter(({ number }) => number > from)) {
    await run(store);
    await kv.set(MIGRATING_KEY, number);
  }
  await kv.delete(MIGRATING_KEY);
}

/** Entries that one commit writes: their keys must not exceed the engine's limit together. */
const ENTRIES_MAX = 300;

/** Writes an index's entries for records that were stored before the index was declared. */
async function fillIndex<T extends Row>(
  store: Store,
  of: Collection<T>,
  index: string,
): Promise<void> {
  const { kv, clock } = store;
  let op = kv.atomic(), entries = 0;
  for await (const tenant of everyTenant(kv)) {
    for await (
      const { value: stored } of kv.list({ prefix: [tenant.org, tenant.space, of.name] })
    ) {
      const value = of.schema.parse(stored);
      const key = of.index[index]!(value);
      if (key === null || !store.isLive(of, value)) continue;
      const expiresAt = of.expiresAt(value);
      const ttl = expiresAt !== null && { expireIn: expiresAt - clock.now() + EXPIRY_SLACK_MS };
      op.set(indexKey(of, tenant, index, [...key, value.id]), new Uint8Array(0), { ...ttl });
      if (++entries % ENTRIES_MAX > 0) continue;
      await op.commit();
      op = kv.atomic();
    }
  }
  await op.commit();
}
