import type { Tenant } from "../../kv/store/collection.ts";
import type { CommandRecord } from "../../kv/records/command.ts";
import type { App } from "../work/work.ts";
import { inspectCommand } from "../shield/shield.ts";
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
];

/**
 * A line of the journal of open commands: what cannot be found out again. Written for each command, so by
 * hand: nothing in it but the command holds what JSON escapes.
 */
export function writeNote({ org, space }: Tenant, record: CommandRecord): string {
  const { id, agent_id, command, timeout_ms, actor, request_id, created_at_ms } = record;
  return `["${org}","${space}","${id}","${agent_id}",${JSON.stringify(command)},${timeout_ms},` +
    `"${actor}","${request_id}",${created_at_ms},"${record.policy_version}"]`;
}

/** The command as it was begun; one that has a row of its own has its text there. */
export function readNote(text: string, app: App): { tenant: Tenant; record: CommandRecord } {
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
  ] = fields;
  const record = beginRecord(app, {
    id,
    agentId,
    command,
    timeoutMs,
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
