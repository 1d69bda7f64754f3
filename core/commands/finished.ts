import type { Tenant } from "../../kv/collection.ts";
import { CommandRecord, commands } from "../../kv/records/command.ts";
import { findOnShelf, putOnShelf } from "../../kv/shelf.ts";
import type { Reader, Store } from "../../kv/store.ts";
import type { Tx } from "../../kv/tx.ts";

const SHELF = "commands";
/** A command that ended this soon goes on the shelf, where it is found by its id's time. */
const QUICK_MS = 5_000;
/** Ids are made a moment before the record; instances' clocks may differ. */
const SLACK_MS = 2_000;
const RECORD_CHARS_MAX = 8 * 1024;
/** How an id tells when it was made: base 36 milliseconds after its prefix. */
const TIME_IN_ID = /^[a-z]+_([0-9a-z]{9})/;

/** Puts a command that has ended on the shelf; false when it needs a row of its own. */
export function shelve(tx: Tx, tenant: Tenant, record: CommandRecord): boolean {
  const endedMs = record.finished_at_ms ?? Infinity;
  if (record.status === "lost" || endedMs - record.created_at_ms > QUICK_MS) return false;
  const json = JSON.stringify(record);
  if (json.length > RECORD_CHARS_MAX) return false;
  putOnShelf(tx, tenant, SHELF, { json, expireIn: record.expires_at_ms - endedMs });
  return true;
}

/** A command that is on record, in its row or on the shelf. */
export async function findCommand(
  db: Reader,
  store: Store,
  tenant: Tenant,
  id: string,
): Promise<CommandRecord | null> {
  const row = await db.get(commands, tenant, id);
  const time = TIME_IN_ID.exec(id)?.[1];
  if (row !== null || time === undefined) return row;
  const madeMs = parseInt(time, 36);
  const range = [madeMs - SLACK_MS, madeMs + QUICK_MS + SLACK_MS] as const;
  const json = await findOnShelf(store, tenant, SHELF, `{"id":${JSON.stringify(id)},`, range);
  if (json === null) return null;
  const record = CommandRecord.parse(JSON.parse(json));
  return store.clock.now() < record.expires_at_ms ? record : null;
}
