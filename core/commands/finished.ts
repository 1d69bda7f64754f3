import type { Appending } from "../../kv/log/appends.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { CommandRecord, commands } from "../../kv/records/command.ts";
import { findPacked, putPacked } from "../../kv/store/packed.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Reader } from "../../kv/store/reader.ts";
import { HARMLESS } from "../shield/shield.ts";

const PACKED = "commands";
/** A command that ended this soon goes on the shelf, where it is found by its id's time. */
const QUICK_MS = 5_000;
/** Ids are made a moment before the record; instances' clocks may differ. */
const SLACK_MS = 2_000;
const RECORD_CHARS_MAX = 8 * 1024;
/** How an id tells when it was made: base 36 milliseconds after its prefix. */
const TIME_IN_ID = /^[a-z]+_([0-9a-z]{9})/;

/** The instants in ms between which a command may go on the shelf, and is looked for there. */
function packedTimes(id: string): readonly [number, number] | null {
  const time = TIME_IN_ID.exec(id)?.[1];
  if (time === undefined) return null;
  const madeMs = parseInt(time, 36);
  return [madeMs - SLACK_MS, madeMs + QUICK_MS + SLACK_MS];
}

/**
 * What the shelf holds of a record, in this order; the rest of a quick command is always the same. The
 * verdict on most commands is too: null stands for that.
 */
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

/** What the shelf holds of a command that has ended; null when it needs a row of its own. */
export function packedText(record: CommandRecord): string | null {
  const times = packedTimes(record.id), endedMs = record.finished_at_ms;
  // Where the clock was set back meanwhile it would be looked for in vain.
  const quick = times !== null && endedMs !== null && endedMs >= times[0] && endedMs < times[1];
  if (!quick || record.status === "lost" || record.output !== null) return null;
  const json = JSON.stringify(FIELDS.map((field) => {
    const value = record[field];
    return value === HARMLESS ? null : value;
  }));
  return json.length > RECORD_CHARS_MAX ? null : json;
}

/** Puts on the shelf what `packedText` gave. */
export function pack(to: Appending, tenant: Tenant, record: CommandRecord, json: string): void {
  const nowMs = record.finished_at_ms!;
  putPacked(to, tenant, PACKED, { json, nowMs, expireIn: record.expires_at_ms - nowMs });
}

/** A command that is on record, in its row or on the shelf. */
export async function findCommand(
  db: Reader,
  store: Store,
  tenant: Tenant,
  id: string,
): Promise<CommandRecord | null> {
  const row = await db.get(commands, tenant, id);
  const times = packedTimes(id);
  if (row !== null || times === null) return row;
  const json = await findPacked(store, tenant, PACKED, `[${JSON.stringify(id)},`, times);
  if (json === null) return null;
  const values: unknown[] = JSON.parse(json);
  const record = CommandRecord.parse({
    ...Object.fromEntries(FIELDS.map((field, at) => [field, values[at]])),
    idempotency: null,
    approval_id: null,
    start_before_ms: null,
    output: null,
    started_at_ms: values[FIELDS.indexOf("created_at_ms")],
    shield_result: values[FIELDS.indexOf("shield_result")] ?? HARMLESS,
  });
  return store.clock.now() < record.expires_at_ms ? record : null;
}
