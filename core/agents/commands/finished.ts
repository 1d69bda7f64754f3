import type { Appending } from "../../../kv/log/appends.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { commandMadeMs, CommandRecord, commands } from "../../../kv/records/command.ts";
import {
  findPacked,
  packedNewestFirst,
  type PackedRange,
  putPacked,
} from "../../../kv/store/packed.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { HARMLESS } from "../../shield/shield.ts";

/** The packed records of commands that have ended. */
const PACKED = "ended_commands";
const RECORD_CHARS_MAX = 8 * 1024;

/**
 * The fields of a packed command, in this order; the others are the same for every command that is packed. Null
 * stands for the verdict `HARMLESS`, which most commands have. The last fields are left out together.
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
  "alert_id",
  "thread",
] as const satisfies readonly (keyof CommandRecord)[];

/** The fields of a command that answers no alert. */
const FIELDS_WITHOUT_ALERT = FIELDS.slice(0, FIELDS.indexOf("alert_id"));

/** A command that has ended as a packed record's JSON; null when it needs a row of its own. */
export function packedText(record: CommandRecord): string | null {
  const { status, output, finished_at_ms: endedMs, expires_at_ms: expiresMs } = record;
  if (status === "lost" || output !== null || commandMadeMs(record.id) === null) return null;
  if (record.turns !== undefined) return null;
  // The clock may have jumped beyond the expiry.
  if (endedMs === null || endedMs >= expiresMs) return null;
  const fields = record.alert_id === undefined ? FIELDS_WITHOUT_ALERT : FIELDS;
  const json = JSON.stringify(fields.map((field) => {
    const value = record[field];
    return value === HARMLESS ? null : value;
  }));
  return json.length > RECORD_CHARS_MAX ? null : json;
}

/** Stores the packed record that `packedText` made. */
export function pack(to: Appending, tenant: Tenant, record: CommandRecord, json: string): void {
  putPacked(to, tenant, PACKED, {
    id: record.id,
    json,
    madeMs: commandMadeMs(record.id)!,
    expireIn: record.expires_at_ms - record.finished_at_ms!,
    owner: record.agent_id,
  });
}

/** A stored command, from its row or a packed record. */
export async function findCommand(
  db: Reader,
  store: Store,
  tenant: Tenant,
  id: string,
): Promise<CommandRecord | null> {
  const row = await db.get(commands, tenant, id);
  const madeMs = commandMadeMs(id);
  if (row !== null || madeMs === null) return row;
  const json = await findPacked(store, tenant, PACKED, { id, madeMs });
  const record = json === null ? null : unpack(json);
  return record !== null && store.isLive(commands, record) ? record : null;
}

/** The record that `packedText` made. */
function unpack(json: string): CommandRecord {
  const values: unknown[] = JSON.parse(json);
  const fields = FIELDS.slice(0, values.length);
  return CommandRecord.parse({
    ...Object.fromEntries(fields.map((field, at) => [field, values[at]])),
    idempotency: null,
    approval_id: null,
    start_before_ms: null,
    output: null,
    started_at_ms: values[FIELDS.indexOf("created_at_ms")],
    shield_result: values[FIELDS.indexOf("shield_result")] ?? HARMLESS,
  });
}

/** Packed commands, newest first. */
export async function* packedCommands(
  store: Store,
  tenant: Tenant,
  range: PackedRange,
): AsyncGenerator<CommandRecord> {
  for await (const json of packedNewestFirst(store, tenant, PACKED, range)) {
    const record = unpack(json);
    if (store.isLive(commands, record)) yield record;
  }
}
