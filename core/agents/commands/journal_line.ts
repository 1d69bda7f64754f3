import type { Tenant } from "../../../kv/store/collection.ts";
import type { CommandRecord } from "../../../kv/records/command.ts";
import type { Context } from "../../context/context.ts";
import { inspectCommand } from "../../shield/shield.ts";
import { beginRecord } from "./begin.ts";

type Fields = [
  org: string,
  space: Tenant["space"],
  id: string,
  agentId: string,
  command: string,
  timeoutMs: number,
  actor: string,
  requestId: string,
  createdAtMs: number,
  policyVersion: string,
  alertId?: string,
];

/**
 * A command's line in the journal of open commands, with everything that cannot be derived again. Every command
 * needs one, so it is written by hand: of its fields only the command's text needs escaping.
 */
export function writeJournalLine({ org, space }: Tenant, record: CommandRecord): string {
  const { id, agent_id, command, timeout_ms, actor, request_id, created_at_ms } = record;
  const answered = record.alert_id === undefined ? "" : `,"${record.alert_id}"`;
  return `["${org}","${space}","${id}","${agent_id}",${JSON.stringify(command)},${timeout_ms},` +
    `"${actor}","${request_id}",${created_at_ms},"${record.policy_version}"${answered}]`;
}

/** The command of a line as it was begun; if it has a row, only the row holds its text. */
export function readJournalLine(
  text: string,
  context: Pick<Context, "config">,
): { tenant: Tenant; record: CommandRecord } {
  const fields: Fields = JSON.parse(text);
  const [
    org,
    space,
    id,
    agentId,
    command,
    timeoutMs,
    actor,
    requestId,
    createdAtMs,
    policyVersion,
    alertId,
  ] = fields;
  const record = beginRecord(context, {
    id,
    agentId,
    command,
    timeoutMs,
    alertId,
    actor,
    requestId,
    createdAtMs,
    policyVersion,
    shield: inspectCommand(command),
    retentionDays: null,
    idempotency: null,
  });
  return { tenant: { org, space }, record };
}
