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

/** What the shelf holds of a record, in this order; the rest of a quick command is always the same. */
const FIELDS = [
  "id",
  "agent_id",
  "command",
  "status",
  "exit_code",
  "signal",
  "stdout",
  "stderr",
  "truncated",
  "reason",
  "duration_ms",
  "timeout_ms",
  "actor",
  "request_id",
  "policy_version",
  "shield_result",
  "created_at_ms",
  "finished_at_ms",
  "expires_at_ms",
] as const satisfies readonly (keyof CommandRecord)[];

/** Puts a command that has ended on the shelf; false when it needs a row of its own. */
export function shelve(tx: Tx, tenant: Tenant, record: CommandRecord): boolean {
  const endedMs = record.finished_at_ms ?? Infinity;
  const quick = endedMs - record.created_at_ms <= QUICK_MS && record.status !== "lost";
  if (!quick || record.output !== null) return false;
  const json = JSON.stringify(FIELDS.map((field) => record[field]));
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
  const json = await findOnShelf(store, tenant, SHELF, `[${JSON.stringify(id)},`, range);
  if (json === null) return null;
  const values: unknown[] = JSON.parse(json);
  const record = CommandRecord.parse({
    ...Object.fromEntries(FIELDS.map((field, at) => [field, values[at]])),
    idempotency: null,
    approval_id: null,
    start_before_ms: null,
    output: null,
    started_at_ms: values[FIELDS.indexOf("created_at_ms")],
  });
  return store.clock.now() < record.expires_at_ms ? record : null;
}
