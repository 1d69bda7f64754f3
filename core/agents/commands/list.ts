import { Buffer } from "node:buffer";
import { agents } from "../../../kv/records/agent.ts";
import {
  commandMadeMs,
  type CommandRecord,
  commands,
  type CommandStatus,
  leastCommandId,
  OPEN_STATUSES,
} from "../../../kv/records/command.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { mergeNewest, newestFirst } from "../../../kv/store/newest_first.ts";
import { ownedAgent } from "../manage.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { Fault } from "../../fault/fault.ts";
import type { ShieldResult } from "../../shield/shield.ts";
import type { Reading, Work } from "../../work/work.ts";
import { findCommand, packedCommands } from "./finished.ts";
import { textForEvent } from "./text.ts";
import { threadOf } from "./thread.ts";

/** The conditions of a list. All must hold. */
export interface CommandFilter {
  /** Exactly this command. */
  readonly command_id?: string | undefined;
  readonly agent_id?: string | undefined;
  /** The fleet command that they belong to. */
  readonly parent_id?: string | undefined;
  /** Any of these. */
  readonly status?: readonly CommandStatus[] | undefined;
  /** A label that the agent has now. */
  readonly label?: { readonly key: string; readonly value: string } | undefined;
  readonly actor?: string | undefined;
  /** A substring of the command, ignoring case. */
  readonly text?: string | undefined;
  readonly verdict?: ShieldResult["verdict"] | undefined;
  /** From when the commands were created, in ms, inclusive. */
  readonly startMs?: number | undefined;
  /** Until when they were created, in ms, inclusive. */
  readonly endMs?: number | undefined;
  /** Those that ended at this time or later, in ms. */
  readonly endedSinceMs?: number | undefined;
}

export interface CommandPaging {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** The commands that run here. */
export interface RunningHere {
  running(tenant: Tenant, id: string): CommandRecord | null;
  withoutRow(tenant: Tenant): CommandRecord[];
}

/** What a search needs. */
export type Finding = Pick<Work, "actor" | "db" | "store">;

/** A place between two commands: before this id, which was made at this time. */
interface Place {
  readonly id: string;
  readonly ms: number;
}

/** Commands that one page examines; its cursor continues from there. */
const EXAMINED_MAX = 1_000;
/** A command's id, which orders the list, is made just before its time is read. */
const SLACK_MS = 1_000;
const placeOf = (ms: number): Place => ({ id: leastCommandId(ms), ms: Math.max(0, ms) });
/** After every id. */
const END = placeOf(Date.UTC(5000, 0));

/** Commands that match, as a list shows them. @throws {Fault} VALIDATION_FAILED for a cursor of another list */
export async function listCommands(
  work: Reading,
  running: RunningHere,
  filter: CommandFilter,
  paging: CommandPaging,
) {
  const { found, cursor } = await findCommands(work, running, filter, paging);
  return { commands: found.map(showListed), cursor };
}

/**
 * Commands that match, newest first, whether they wait, run or have ended. A cursor is a place between two commands,
 * which new commands do not shift.
 * @throws {Fault} VALIDATION_FAILED for a cursor of another list
 */
export async function findCommands(
  work: Finding,
  running: RunningHere,
  filter: CommandFilter,
  { limit, cursor }: CommandPaging,
): Promise<{ found: CommandRecord[]; cursor: string | null }> {
  const { startMs = 0, endMs } = filter;
  const from = placeOf(startMs - SLACK_MS);
  const last = endMs === undefined ? END : placeOf(endMs + SLACK_MS);
  const resumed = cursor === undefined ? last : readCursor(cursor);
  const before = resumed.id < last.id ? resumed : last;
  const matches = matcher(work, filter);
  const found: CommandRecord[] = [];
  let examined = 0, newest = "", more = false;
  for await (const record of candidates(work, running, filter, from, before)) {
    more = found.length === limit || examined === EXAMINED_MAX;
    if (more) break;
    examined++;
    newest = record.id;
    if (await matches(record)) found.push(record);
  }
  return { found, cursor: more ? cursorText(newest) : null };
}

/** The commands of one agent. @throws {Fault} AGENT_NOT_FOUND, VALIDATION_FAILED */
export async function listAgentCommands(
  work: Reading,
  running: RunningHere,
  filter: CommandFilter & { readonly agent_id: string },
  paging: CommandPaging,
) {
  await ownedAgent(work, filter.agent_id);
  return await listCommands(work, running, filter, paging);
}

/**
 * Commands between two places, by the best index. Those in memory are noted first: a command that ends meanwhile is
 * then found in the store.
 */
function candidates(
  work: Finding,
  running: RunningHere,
  { command_id, agent_id: owner, parent_id: parent, status }: CommandFilter,
  from: Place,
  before: Place,
): AsyncIterable<CommandRecord> {
  const { store, actor: { tenant } } = work;
  if (from.id >= before.id) return some([]);
  if (command_id !== undefined) return one(work, running, command_id);
  if (parent !== undefined) {
    // All of them have rows.
    const by = { index: "parent", key: [parent] };
    return newestFirst(store, commands, tenant, { from: from.id, before: before.id, by });
  }
  const here = running.withoutRow(tenant)
    .filter(({ id, agent_id }) => id < before.id && (owner ?? agent_id) === agent_id);
  const isOpen = status?.every((one) => OPEN_STATUSES.includes(one)) ?? false;
  const by = isOpen
    ? { index: "open", key: [] }
    : owner === undefined
    ? undefined
    : { index: "agent", key: [owner] };
  const rows = newestFirst(store, commands, tenant, { from: from.id, before: before.id, by });
  const packed = isOpen ? some([]) : packedCommands(store, tenant, { from, before, owner });
  return mergeNewest([rows, packed, some(here)]);
}

/** The command of an id, if there is one. */
async function* one(
  { store, db, actor: { tenant } }: Finding,
  running: RunningHere,
  id: string,
): AsyncGenerator<CommandRecord> {
  const record = running.running(tenant, id) ?? await findCommand(db, store, tenant, id);
  if (record !== null) yield record;
}

async function* some(records: readonly CommandRecord[]): AsyncGenerator<CommandRecord> {
  yield* records;
}

/** The test of all conditions. The labels of each agent are read once. */
function matcher(
  { db, actor: { tenant } }: Finding,
  { agent_id, parent_id, status, label, actor, text, verdict, startMs, endMs, endedSinceMs }:
    CommandFilter,
): (record: CommandRecord) => boolean | Promise<boolean> {
  const wanted = text?.toLowerCase();
  const labelled = new Map<string, Promise<boolean>>();
  const hasLabel = ({ agent_id: id }: CommandRecord) => {
    if (label === undefined) return true;
    const known = labelled.get(id) ??
      db.get(agents, tenant, id).then((agent) => agent?.labels[label.key] === label.value);
    labelled.set(id, known);
    return known;
  };
  return (record) =>
    (agent_id === undefined || agent_id === record.agent_id) &&
    (parent_id === undefined || parent_id === record.parent_id) &&
    (status?.includes(record.status) ?? true) &&
    (actor === undefined || actor === record.actor) &&
    (verdict === undefined || verdict === (record.shield_result as ShieldResult).verdict) &&
    (startMs === undefined || record.created_at_ms >= startMs) &&
    (endMs === undefined || record.created_at_ms <= endMs) &&
    (endedSinceMs === undefined || (record.finished_at_ms ?? 0) >= endedSinceMs) &&
    (wanted === undefined || record.command.toLowerCase().includes(wanted)) &&
    hasLabel(record);
}

const cursorText = (id: string): string => Buffer.from(id).toString("base64url");

/** @throws {Fault} VALIDATION_FAILED */
function readCursor(text: string): Place {
  const id = Buffer.from(text, "base64url").toString();
  const ms = commandMadeMs(id);
  if (ms !== null && cursorText(id) === text) return { id, ms };
  throw new Fault(
    "VALIDATION_FAILED",
    "The cursor is not from this list. Send the `cursor` of a previous response.",
    { issues: [{ path: "query.cursor", message: "is not a cursor of this list" }] },
  );
}

/** A command as lists show it: without output, and with long text cut. */
export function showListed(record: CommandRecord) {
  const { verdict, risk_score } = record.shield_result as ShieldResult;
  return {
    command_id: record.id,
    agent_id: record.agent_id,
    ...textForEvent(record.command),
    status: record.status,
    actor: record.actor,
    verdict,
    risk_score,
    approval_id: record.approval_id,
    ...(record.parent_id !== undefined && { parent_id: record.parent_id }),
    ...threadOf(record),
    exit_code: record.exit_code,
    signal: record.signal,
    truncated: record.truncated,
    reason: record.reason,
    duration_ms: record.duration_ms,
    created_at: iso(record.created_at_ms),
    started_at: isoOrNull(record.started_at_ms),
    finished_at: isoOrNull(record.finished_at_ms),
  };
}
