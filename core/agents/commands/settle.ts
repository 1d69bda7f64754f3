import { askedBy } from "./asked_by.ts";
import { hash } from "node:crypto";
import { Buffer } from "node:buffer";
import type { Appending } from "../../../kv/log/appends.ts";
import { adoptBlob, dropBlob } from "../../../kv/store/blob.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type CommandRecord, commands } from "../../../kv/records/command.ts";
import type { Context } from "../../context/context.ts";
import { sendMessage } from "../../work/work.ts";
import type { Receipt } from "../links/link.ts";
import { type DetailsOf, emit, type NewEvent, RELAY_ACTOR } from "../../events/events.ts";
import { type CommandResult, EMPTY_SHA256 } from "../../protocol/protocol.ts";
import { findCommand, pack, packedText } from "./finished.ts";
import { inlineOutput, outputOf, storeOutput } from "./output.ts";
import { OutputLog } from "./output_log.ts";
import { textForEvent } from "./text.ts";

/** The parts that settling commands uses. */
export type SettlementContext = Pick<Context, "store" | "ports" | "signals" | "config">;

/** How a command ended. */
export interface Outcome {
  readonly status: "succeeded" | "failed" | "cancelled" | "timed_out" | "lost";
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly durationMs?: number;
  /** For people: why there is no result. */
  readonly why?: string;
}

/** How a command ended, with its output. */
export interface Ending extends Outcome {
  readonly receipt?: Receipt;
  /** The verdict that it was sent under. */
  readonly verdict?: string | null;
  /** A second event, about a broken guarantee. */
  readonly alarm?: {
    readonly type: "approval_mismatch" | "verdict_refused";
    readonly reason: string;
  };
  readonly stdout?: string;
  readonly stderr?: string;
  /** Bytes of stdout and stderr by turns, unless all of stdout came first. */
  readonly turns?: readonly number[] | undefined;
  readonly truncated?: boolean;
}

/** The outcome that an agent's result reports. */
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

/** A command to settle. */
export interface Unsettled {
  readonly id: string;
  readonly agentId: string;
  /** The command as it was begun, if this process knows it. */
  readonly record: CommandRecord | null;
  /** True when it has no row yet, so that none is read. */
  readonly fresh: boolean;
  /** The states in which it may be settled; by default `running`, and `lost` when a result arrives. */
  readonly from?: readonly CommandRecord["status"][];
  /** Who cancelled it. */
  readonly cancelledBy?: string | null;
}

/**
 * Records the end of a command with its event. A recorded end stays, except that a result replaces the end of a
 * lost command. Returns the record, or null when there is no such command.
 */
export async function settleCommand(
  context: SettlementContext,
  tenant: Tenant,
  open: Unsettled,
  ending: Ending,
  inSettlement: InSettlement = () => {},
): Promise<CommandRecord | null> {
  const { store, ports, signals } = context;
  const output = inlineOutput(ending) ?? await storeOutput(context, tenant, ending);
  const { verdict } = ending;
  const end = (record: CommandRecord): CommandRecord => ({
    ...record,
    ...(ending.status === "lost" && verdict && { verdict }),
    stdout: output.stdout,
    stderr: output.stderr,
    output: output.output,
    ...((output.turns ?? record.turns) !== undefined && { turns: output.turns ?? [] }),
    status: ending.status,
    exit_code: ending.exitCode ?? null,
    signal: ending.signal ?? null,
    truncated: ending.truncated ?? false,
    reason: ending.why ?? null,
    duration_ms: ending.durationMs ?? null,
    finished_at_ms: ports.clock.now(),
  });
  const traceOf = (record: CommandRecord) => ports.tracing?.resume(record.traceparent) ?? null;
  const trace = open.record && traceOf(open.record);
  const report = (to: Appending, settled: CommandRecord) => {
    const work = {
      ports,
      signals,
      actor: askedBy(settled),
      request: { id: settled.request_id, trace: traceOf(settled) },
    };
    emit(work, to, tenant, eventOf(settled, ending, open.cancelledBy ?? null));
    if (ending.alarm !== undefined) emitAlarm(context, to, tenant, settled, ending.alarm);
    inSettlement(to, settled);
    return settled;
  };
  if (open.fresh && open.record !== null) {
    const settled = end(open.record);
    const text = packedText(settled);
    if (text !== null) {
      return await store.add((to) => {
        pack(to, tenant, settled, text);
        return report(to, settled);
      }, trace);
    }
  }
  return await store.transact(async (tx) => {
    const row = open.fresh ? null : await findCommand(tx, store, tenant, open.id);
    const record = row ?? open.record;
    if (record === null || record.agent_id !== open.agentId) return null;
    const may = open.from?.includes(record.status) ?? maySettle(record, ending);
    if (!may) return record;
    if (output.output !== null) await adoptBlob(tx, tenant, output.output);
    if (record.output !== null) dropBlob(tx, tenant, record.output);
    const settled = end(record);
    if (open.fresh) tx.insert(commands, tenant, settled);
    else tx.put(commands, tenant, settled);
    for (const to of settled.reply_to ?? []) {
      sendMessage(ports, tx, to, { kind: "ended", tenant, command_id: settled.id });
    }
    return report(tx, settled);
  }, trace);
}

function emitAlarm(
  { ports, signals }: SettlementContext,
  to: Appending,
  tenant: Tenant,
  { id, agent_id: agentId, thread }: CommandRecord,
  { type, reason }: NonNullable<Ending["alarm"]>,
): void {
  emit({ ports, signals, actor: RELAY_ACTOR }, to, tenant, {
    type,
    resource: { type: "command", id },
    agentId,
    thread,
    details: { command_id: id, reason },
  });
}

/**
 * Records a result that came after its command was given up, such as a lost one: its output follows what had
 * arrived before the link broke. False when the command was sent under another verdict; after a crash of the
 * relay the verdict is unknown, so any is accepted.
 */
export async function settleLate(
  context: SettlementContext,
  tenant: Tenant,
  agentId: string,
  frame: CommandResult,
  receipt: Receipt,
): Promise<boolean> {
  const id = frame.command_id;
  const record = await findCommand(context.store, context.store, tenant, id);
  // A command that is still recorded as running was begun by a process that is gone.
  const open = record?.status === "lost" || record?.status === "running";
  if (record === null || record.agent_id !== agentId || !open) return true;
  if (record.verdict !== undefined && record.verdict !== receipt.verdict) return false;
  const before = await outputOf(context.store, tenant, record);
  const log = OutputLog.of(before);
  for (const stream of ["stdout", "stderr"] as const) {
    const tail = (frame[stream] ?? "").toWellFormed();
    if (tail !== "") log.append(stream, tail, Buffer.byteLength(tail));
  }
  const [stdout, stderr] = [log.text("stdout"), log.text("stderr")];
  // Output that came while no command waited for it was not kept.
  const whole = hash("sha256", stdout) === receipt.stdout &&
    hash("sha256", stderr) === receipt.stderr;
  await settleCommand(context, tenant, { id, agentId, record, fresh: false }, {
    ...outcomeOf(frame),
    receipt,
    stdout,
    stderr,
    turns: log.turns(),
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
    thread: record.thread,
    // Already in the order of canonical JSON, which saves sorting them; undefined members are omitted.
    details: {
      cancelled_by: cancelledBy ?? undefined,
      command,
      command_id: record.id,
      command_sha256,
      command_truncated,
      duration_ms: record.duration_ms,
      exit_code: record.exit_code,
      output_bytes: Buffer.byteLength(ending.stdout ?? "") + Buffer.byteLength(ending.stderr ?? ""),
      parent_id: record.parent_id,
      policy_version: record.policy_version,
      reason: ending.why,
      receipt: ending.receipt && showReceipt(ending.receipt),
      signal: record.signal,
      status: ending.status,
      timeout_ms: record.timeout_ms,
      truncated: record.truncated,
      user: record.actor,
      // The compiler cannot see that each type has the receipt or the reason that its schema demands.
    } as DetailsOf<typeof type>,
  };
}

/** The digests of non-empty streams, the signature, and the verdict that it answers. */
function showReceipt({ signature, stdout, stderr, verdict }: Receipt) {
  return {
    signature,
    stderr_sha256: stderr === EMPTY_SHA256 ? undefined : stderr,
    stdout_sha256: stdout === EMPTY_SHA256 ? undefined : stdout,
    verdict,
  };
}
