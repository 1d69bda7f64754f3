import type { Tenant } from "../../kv/store/collection.ts";
import type { AgentRecord } from "../../kv/records/agent.ts";
import type { ActionRef } from "../../kv/records/agent_state.ts";
import type { App } from "../work/work.ts";
import type { EventRow } from "../events/events.ts";

/** Rows of the log that are looked at for what may have changed an agent's configuration. */
const ROWS = 500;
const POLICY_FILE = "policies.json";

/**
 * The last audited action that names what has changed: a command of this agent with the policy file or a
 * listed path in it, or a restore. What nobody did through Relay has none.
 */
export async function actionBehind(
  { log }: App,
  tenant: Tenant,
  { id }: Pick<AgentRecord, "id">,
  roots: readonly string[],
): Promise<{ policy?: ActionRef; files?: ActionRef }> {
  await log.flush();
  const rows = await log.readBack(tenant, await log.head(tenant) + 1, ROWS);
  const found: { policy?: ActionRef; files?: ActionRef } = {};
  for (const { type, json } of rows) {
    if (type !== "command_executed" && type !== "restore_completed") continue;
    const row = JSON.parse(json) as EventRow;
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
