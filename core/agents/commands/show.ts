import type { Tenant } from "../../../kv/store/collection.ts";
import { type CommandRecord, isOpen } from "../../../kv/records/command.ts";
import type { Store } from "../../../kv/store/store.ts";
import { ownedAgent } from "../manage.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { Fault } from "../../fault/fault.ts";
import type { ShieldResult } from "../../shield/shield.ts";
import type { Work } from "../../work/work.ts";
import { findCommand } from "./finished.ts";
import type { LiveOutput } from "./live_output.ts";
import { type Output, outputOf } from "./output.ts";
import { threadOf } from "./thread.ts";

/** The commands that run here. */
interface RunningHere {
  running(tenant: Tenant, id: string): CommandRecord | null;
}

/** The parts that know the commands which have not ended. */
interface CommandsNow {
  readonly commands: RunningHere;
  readonly liveOutput: Pick<LiveOutput, "soFar">;
}

/**
 * One command of the caller's agent, with its output so far. It says so when the instance that has the output does not
 * answer, because the rest of the record is worth an answer.
 * @throws {Fault} AGENT_NOT_FOUND, NOT_FOUND
 */
export async function getCommand(work: Work, now: CommandsNow, agentId: string, id: string) {
  const { actor: { tenant }, db, store } = work;
  const record = await ownedCommand(work, now.commands, agentId, id);
  if (!isOpen(record)) return await showCommand(store, tenant, record);
  const live = await now.liveOutput.soFar(tenant, record);
  // A command of another instance may have ended meanwhile.
  const known = store.sole ? record : await findCommand(db, store, tenant, id) ?? record;
  if (!isOpen(known)) return await showCommand(store, tenant, known);
  if (live === null) {
    return { ...await showCommand(store, tenant, known), output_unavailable: true as const };
  }
  const { log, truncated } = live;
  const output = { stdout: log.text("stdout"), stderr: log.text("stderr") };
  return viewOf({ ...known, truncated }, output);
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
    ...(record.parent_id !== undefined && { parent_id: record.parent_id }),
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
