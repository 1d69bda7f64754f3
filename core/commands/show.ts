import type { Tenant } from "../../kv/store/collection.ts";
import type { CommandRecord } from "../../kv/records/command.ts";
import type { Store } from "../../kv/store/store.ts";
import { ownedAgent } from "../agents/agents.ts";
import { iso, isoOrNull } from "../codec/codec.ts";
import { Fault } from "../fault/fault.ts";
import type { ShieldResult } from "../shield/shield.ts";
import type { Work } from "../work/work.ts";
import { findCommand } from "./finished.ts";
import { type Output, outputOf } from "./output.ts";
import { threadOf } from "./thread.ts";

/** The commands that run here. */
interface RunningHere {
  running(tenant: Tenant, id: string): CommandRecord | null;
}

/** One command of the caller's agent, with its output. @throws {Fault} AGENT_NOT_FOUND, NOT_FOUND */
export async function getCommand(work: Work, running: RunningHere, agentId: string, id: string) {
  const record = await ownedCommand(work, running, agentId, id);
  return await showCommand(work.store, work.actor.tenant, record);
}

/** A command that the caller asked for, by its id alone. @throws {Fault} NOT_FOUND */
export async function getOwnCommand(
  { actor, db, store }: Pick<Work, "actor" | "db" | "store">,
  running: RunningHere,
  id: string,
) {
  const { tenant } = actor;
  const record = running.running(tenant, id) ?? await findCommand(db, store, tenant, id);
  if (record?.actor === actor.id) return await showCommand(store, tenant, record);
  throw new Fault("NOT_FOUND", "There is no such command of yours.");
}

/** A command as answers show it. */
export async function showCommand(store: Store, tenant: Tenant, record: CommandRecord) {
  return viewOf(record, await outputOf(store, tenant, record));
}

/** A command whose output is at hand, as answers show it. */
export function viewOf(record: CommandRecord, { stdout, stderr }: Output) {
  return {
    command_id: record.id,
    agent_id: record.agent_id,
    command: record.command,
    status: record.status,
    approval_id: record.approval_id,
    ...threadOf(record),
    exit_code: record.exit_code,
    signal: record.signal,
    stdout,
    stderr,
    truncated: record.truncated,
    reason: record.reason,
    duration_ms: record.duration_ms,
    shield_result: record.shield_result as ShieldResult,
    created_at: iso(record.created_at_ms),
    started_at: isoOrNull(record.started_at_ms),
    finished_at: isoOrNull(record.finished_at_ms),
  };
}

/** A command of the caller's agent. @throws {Fault} AGENT_NOT_FOUND, NOT_FOUND */
export async function ownedCommand(
  work: Work,
  running: RunningHere,
  agentId: string,
  id: string,
): Promise<CommandRecord> {
  await ownedAgent(work, agentId);
  const { actor: { tenant }, db, store } = work;
  const record = running.running(tenant, id) ?? await findCommand(db, store, tenant, id);
  if (record !== null && record.agent_id === agentId) return record;
  throw new Fault("NOT_FOUND", "There is no such command.");
}
