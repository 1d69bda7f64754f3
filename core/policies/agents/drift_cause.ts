import type { Tenant } from "../../../kv/store/collection.ts";
import type { AgentRecord } from "../../../kv/records/agent.ts";
import type { ActionRef } from "../../../kv/records/agent_state.ts";
import type { Context } from "../../context/context.ts";

/** Rows of the log that are searched. */
const ROWS = 500;
const POLICY_FILE = "policies.json";

/** The fields of an event that tell what it did to an agent. */
interface Row {
  readonly agent_id: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly event_id: string;
  readonly event_type: string;
  readonly actor: string;
  readonly timestamp: string;
}

/**
 * The last audited action that may have caused drift: a command on this agent that names the policy file or a
 * listed path, or a restore. Changes made without Relay have no such action.
 */
export async function findDriftCause(
  { log }: Pick<Context, "log">,
  tenant: Tenant,
  { id }: Pick<AgentRecord, "id">,
  roots: readonly string[],
): Promise<{ policy?: ActionRef; files?: ActionRef }> {
  await log.flush();
  const rows = await log.readBack(tenant, await log.head(tenant) + 1, ROWS);
  const found: { policy?: ActionRef; files?: ActionRef } = {};
  for (const { type, json } of rows) {
    if (type !== "command_executed" && type !== "restore_completed") continue;
    const row = JSON.parse(json) as Row;
    if (row.agent_id !== id || row.details["dry_run"] === true) continue;
    const { command } = row.details;
    const text = typeof command === "string" ? command : "";
    const restored = type === "restore_completed";
    const action = {
      event_id: row.event_id,
      event_type: row.event_type,
      actor: row.actor,
      at_ms: Date.parse(row.timestamp),
    };
    if (restored || text.includes(POLICY_FILE)) found.policy ??= action;
    if (restored || roots.some((root) => text.includes(root))) found.files ??= action;
  }
  return found;
}
