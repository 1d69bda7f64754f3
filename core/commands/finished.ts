import type { Appending } from "../../kv/log/appends.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { CommandRecord, commands } from "../../kv/records/command.ts";
import { findPacked, putPacked } from "../../kv/store/packed.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Reader } from "../../kv/store/reader.ts";
import { HARMLESS } from "../shield/shield.ts";

const PACKED = "commands";
/** A command that ended this soon is stored as a packed record, which is found by the time in its id. */
const QUICK_MS = 5_000;
/** An id is made shortly before its record; the clocks of instances may differ. */
const SLACK_MS = 2_000;
const RECORD_CHARS_MAX = 8 * 1024;
/** An id holds its time after the prefix: milliseconds in base 36. */
const TIME_IN_ID = /^[a-z]+_([0-9a-z]{9})/;

/** The range of instants, in ms, at which a packed command may have ended. */
function packedTimes(id: string): readonly [number, number] | null {
  const time = TIME_IN_ID.exec(id)?.[1];
  if (time === undefined) return null;
  const madeMs = parseInt(time, 36);
  return [madeMs - SLACK_MS, madeMs + QUICK_MS + SLACK_MS];
}

/**
 * The fields of a packed command, in this order; the others are the same for every quick command. Null stands for
 * the verdict `HARMLESS`, which most commands have.
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

/** A command that has ended as a packed record's JSON; null when it needs a row of its own. */
export function packedText(record: CommandRecord): string | null {
  const times = packedTimes(record.id), endedMs = record.finished_at_ms;
  // A command that ended outside the range, because the clock was set back, would not be found.
  const quick = times !== null && endedMs !== null && endedMs >= times[0] && endedMs < times[1];
  if (!quick || record.status === "lost" || record.output !== null) return null;
  if (record.turns !== undefined) return null;
  const json = JSON.stringify(FIELDS.map((field) => {
    const value = record[field];
    return value === HARMLESS ? null : value;
  }));
  return json.length > RECORD_CHARS_MAX ? null : json;
}

/** Stores the packed record that `packedText` made. */
export function pack(to: Appending, tenant: Tenant, record: CommandRecord, json: string): void {
  const nowMs = record.finished_at_ms!;
  putPacked(to, tenant, PACKED, { json, nowMs, expireIn: record.expires_at_ms - nowMs });
}

/** A stored command, from its row or a packed record. */
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
