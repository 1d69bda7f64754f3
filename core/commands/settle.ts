import { Buffer } from "node:buffer";
import type { Appending } from "../../kv/log/appends.ts";
import { adoptBlob, dropBlob } from "../../kv/store/blob.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { type CommandRecord, commands } from "../../kv/records/command.ts";
import type { App } from "../work/work.ts";
import { type DetailsOf, emit, type NewEvent, RELAY_ACTOR } from "../events/events.ts";
import type { CommandResult } from "../protocol/protocol.ts";
import { EMPTY_SHA256, type OutputDigests } from "../protocol/statements.ts";
import { sha256Hex } from "../codec/text.ts";
import { findCommand, shelfText, shelve } from "./finished.ts";
import { inlineOutput, keepOutput, outputOf } from "./output.ts";
import { textForEvent } from "./text.ts";

/** How a command ended. */
export interface Outcome {
  readonly status: "succeeded" | "failed" | "cancelled" | "timed_out" | "lost";
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly durationMs?: number;
  /** For people: why there is no result. */
  readonly why?: string;
}

/** What an agent signed for a result. */
export interface Receipt extends OutputDigests {
  readonly verdict: string;
  readonly signature: string;
}

/** An end with what the command wrote. */
export interface Ending extends Outcome {
  readonly receipt?: Receipt;
  /** The verdict that it was sent under. */
  readonly verdict?: string | null;
  /** An event besides that of the end: something was not as it must be. */
  readonly alarm?: {
    readonly type: "approval_mismatch" | "verdict_refused";
    readonly reason: string;
  };
  readonly stdout?: string;
  readonly stderr?: string;
  readonly truncated?: boolean;
}

/** What an agent's result means. */
export function outcomeOf(frame: CommandResult): Outcome {
  const base = { exitCode: frame.exit_code, signal: frame.signal, durationMs: frame.duration_ms };
  switch (frame.reason) {
    case "exited":
      return { ...base, status: frame.exit_code === 0 ? "succeeded" : "failed" };
    case "timed_out":
      return { ...base, status: "timed_out" };
    case "cancelled":
      return { ...base, status: "cancelled" };
    case "failed_to_start":
      return { ...base, status: "failed", why: "the agent could not start it" };
  }
}

/** Adds to the commit that records a command's end. */
export type InSettlement = (to: Appending, ended: CommandRecord) => void;

/** A command whose end is to be recorded. */
export interface Open {
  readonly id: string;
  readonly agentId: string;
  /** The command as it was begun, when it is known here. */
  readonly record: CommandRecord | null;
  /** True when no row of it can exist yet, so that none is read. */
  readonly fresh: boolean;
  /** True for one that has not been sent: it may be settled only as long as that is so. */
  readonly queued?: true;
  /** Who asked for its end. */
  readonly cancelledBy?: string | null;
}

/**
 * Records the end of a command with its event, once: an end that is known stays, except that one given
 * up as lost may still learn the truth. Answers the record, or null when there was nothing to settle.
 */
export async function settleCommand(
  app: App,
  tenant: Tenant,
  open: Open,
  ending: Ending,
  inSettlement: InSettlement = () => {},
): Promise<CommandRecord | null> {
  const output = inlineOutput(ending) ?? await keepOutput(app, tenant, ending);
  const { verdict } = ending;
  const end = (record: CommandRecord): CommandRecord => ({
    ...record,
    ...(ending.status === "lost" && verdict && { verdict }),
    stdout: output.stdout,
    stderr: output.stderr,
    output: output.output,
    status: ending.status,
    exit_code: ending.exitCode ?? null,
    signal: ending.signal ?? null,
    truncated: ending.truncated ?? false,
    reason: ending.why ?? null,
    duration_ms: ending.durationMs ?? null,
    finished_at_ms: app.ports.clock.now(),
  });
  const report = (to: Appending, settled: CommandRecord) => {
    const work = {
      ports: app.ports,
      signals: app.signals,
      actor: { id: settled.actor },
      request: { id: settled.request_id },
    };
    emit(work, to, tenant, eventOf(settled, ending, open.cancelledBy ?? null));
    if (ending.alarm !== undefined) emitAlarm(app, to, tenant, settled, ending.alarm);
    inSettlement(to, settled);
    return settled;
  };
  if (open.fresh && open.record !== null) {
    const settled = end(open.record);
    const text = shelfText(settled);
    if (text !== null) {
      return await app.store.add((to) => {
        shelve(to, tenant, settled, text);
        return report(to, settled);
      });
    }
  }
  return await app.store.transact(async (tx) => {
    const row = open.fresh ? null : await findCommand(tx, app.store, tenant, open.id);
    const record = row ?? open.record;
    if (record === null || record.agent_id !== open.agentId) return null;
    if (open.queued ? record.status !== "queued" : !maySettle(record, ending)) return record;
    if (output.output !== null) await adoptBlob(tx, tenant, output.output);
    if (record.output !== null) dropBlob(tx, tenant, record.output);
    const settled = end(record);
    if (open.fresh) tx.insert(commands, tenant, settled);
    else tx.put(commands, tenant, settled);
    return report(tx, settled);
  });
}

function emitAlarm(
  app: App,
  to: Appending,
  tenant: Tenant,
  { id, agent_id: agentId }: CommandRecord,
  { type, reason }: NonNullable<Ending["alarm"]>,
): void {
  emit({ ports: app.ports, signals: app.signals, actor: RELAY_ACTOR }, to, tenant, {
    type,
    resource: { type: "command", id },
    agentId,
    details: { command_id: id, reason },
  });
}

/**
 * Records the end of a command that nobody waits for any more, such as one given up as lost: what had arrived before
 * the link broke stays, and what its result brings follows it. False when it is of another verdict than the
 * command was sent under; of one that was lost with its relay nobody knows which that was.
 */
export async function settleLate(
  app: App,
  tenant: Tenant,
  agentId: string,
  frame: CommandResult,
  receipt: Receipt,
): Promise<boolean> {
  const id = frame.command_id;
  const record = await findCommand(app.store, app.store, tenant, id);
  // One that still runs on record was begun by an instance that is gone.
  const open = record?.status === "lost" || record?.status === "running";
  if (record === null || record.agent_id !== agentId || !open) return true;
  if (record.verdict !== undefined && record.verdict !== receipt.verdict) return false;
  const before = await outputOf(app, tenant, record);
  const stdout = before.stdout + (frame.stdout ?? "");
  const stderr = before.stderr + (frame.stderr ?? "");
  // What it wrote while nobody waited for it was not kept.
  const whole = sha256Hex(stdout) === receipt.stdout && sha256Hex(stderr) === receipt.stderr;
  await settleCommand(app, tenant, { id, agentId, record, fresh: false }, {
    ...outcomeOf(frame),
    receipt,
    stdout,
    stderr,
    truncated: record.truncated || frame.truncated || !whole,
  });
  return true;
}

function maySettle(record: CommandRecord, ending: Ending): boolean {
  return record.status === "running" || record.status === "lost" && ending.status !== "lost";
}

function eventOf(
  record: CommandRecord,
  ending: Ending,
  cancelledBy: string | null,
): NewEvent {
  const ran = ending.why === undefined &&
    (record.status === "succeeded" || record.status === "failed");
  const type = ran
    ? "command_executed"
    : record.status === "timed_out"
    ? "command_timeout"
    : record.status === "cancelled"
    ? "command_cancelled"
    : "command_failed";
  const { command, command_sha256, command_truncated } = textForEvent(record.command);
  return {
    type,
    resource: { type: "command", id: record.id },
    agentId: record.agent_id,
    // In the order of canonical JSON, which then costs no sorting, and leaves out what is undefined.
    details: {
      cancelled_by: cancelledBy ?? undefined,
      command,
      command_id: record.id,
      command_sha256,
      command_truncated,
      duration_ms: record.duration_ms,
      exit_code: record.exit_code,
      output_bytes: Buffer.byteLength(ending.stdout ?? "") + Buffer.byteLength(ending.stderr ?? ""),
      policy_version: record.policy_version,
      reason: ending.why,
      receipt: ending.receipt && showReceipt(ending.receipt),
      signal: record.signal,
      status: ending.status,
      timeout_ms: record.timeout_ms,
      truncated: record.truncated,
      user: record.actor,
      // An end has a receipt or a reason as its type's schema says, which the compiler cannot see.
    } as DetailsOf<typeof type>,
  };
}

/** The digests of streams that were not empty, the signature, and the verdict that it answers. */
function showReceipt({ signature, stdout, stderr, verdict }: Receipt) {
  return {
    signature,
    stderr_sha256: stderr === EMPTY_SHA256 ? undefined : stderr,
    stdout_sha256: stdout === EMPTY_SHA256 ? undefined : stdout,
    verdict,
  };
}
