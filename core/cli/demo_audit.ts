import type { Client } from "../client/client.ts";
import { table, type Terminal } from "./terminal.ts";

/** The events that the trail must hold, and names of the actors for the table. */
interface Expected {
  readonly names: Readonly<Record<string, string>>;
  readonly commandId: string;
  readonly deniedId: string;
}

/** The types of events that the demo causes. */
const TYPES = [
  "organization_created",
  "user_created",
  "api_key_created",
  "webhook_created",
  "agent_created",
  "agent_connected",
  "api_key_used",
  "command_executed",
  "command_denied",
];

/** Shows the audit trail. @throws {Error} when a row or a number is missing */
export async function showAudit(
  terminal: Terminal,
  caller: Client,
  { names, commandId, deniedId }: Expected,
): Promise<void> {
  const { events } = await caller.call("audit.query", { query: { limit: 200 } });
  const rows = events.toReversed();
  const missing = TYPES.filter((type) => !rows.some((row) => row.event_type === type));
  if (missing.length > 0) throw new Error(`the audit trail has no ${missing.join(", ")}`);
  for (const [type, id] of [["command_executed", commandId], ["command_denied", deniedId]]) {
    if (rows.some((row) => row.event_type === type && row.resource_id === id)) continue;
    throw new Error(`the audit trail has no ${type} of ${id}`);
  }
  const gap = rows.find((row, at) => row.seq !== at + 1);
  if (gap !== undefined) throw new Error(`the audit trail has a gap before number ${gap.seq}`);

  const shown = rows.filter((row) => row.event_type !== "api_key_used");
  const [heading, ...lines] = table([
    ["seq", "time", "event", "actor", "resource"],
    ...shown.map((row) => [
      String(row.seq),
      row.timestamp.slice(11, 23),
      row.event_type,
      names[row.actor] ?? row.actor,
      row.resource_type,
    ]),
  ]);
  terminal.note(terminal.dim(heading!));
  terminal.note(lines.join("\n"));
  const uses = rows.length - shown.length;
  terminal.good(`${rows.length} rows without a gap; ${uses} more are uses of keys`);
}
