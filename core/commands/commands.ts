import type { Tenant } from "../../kv/store/collection.ts";
import type { AgentRecord } from "../../kv/records/agent.ts";
import { type CommandRecord, commands } from "../../kv/records/command.ts";
import { DuplicateError } from "../../kv/store/errors.ts";
import type { App, Stepping, Work } from "../work/work.ts";
import { aboutCommand } from "./about.ts";
import { offline, ownedAgent } from "../agents/agents.ts";
import { emit } from "../events/events.ts";
import { Fault } from "../fault/fault.ts";
import { checkIdempotencyKey, usedForAnotherCall } from "../work/idempotency_key.ts";
import { iso, isoOrNull } from "../codec/instant.ts";
import { Accepted } from "../work/accepted.ts";
import { alertOfDenial, denyingRule } from "./alerts/denied.ts";
import { requestApproval } from "./approvals/request.ts";
import { withdrawCommand } from "./approvals/withdraw.ts";
import { judgeForAgent, type Judgement } from "./guard/judge.ts";
import { knownShield, shieldInForce } from "./guard/settings.ts";
import type { ShieldResult } from "../shield/result.ts";
import { sha256Hex } from "../codec/text.ts";
import { within } from "../ports/within.ts";
import { type Beginning, beginRecord } from "./begin.ts";
import { findCommand } from "./finished.ts";
import { type Output, outputOf } from "./output.ts";
import type { InSettlement } from "./settle.ts";
import { textForEvent } from "./text.ts";

/** What a caller wants run. */
export interface CommandRequest {
  readonly agentId: string;
  readonly command: string;
  readonly timeoutMs: number;
  /** People must approve it, whatever the shield says of it. */
  readonly hold?: true;
}

/**
 * Runs a command the whole way and waits for its end; `begun` learns of it at its beginning.
 * @throws {Fault} AGENT_NOT_FOUND, COMMAND_BLOCKED, AGENT_OFFLINE, COMMAND_LOST, COMMAND_TIMEOUT, CONFLICT
 */
export async function runCommand(
  work: Stepping,
  request: CommandRequest,
  begun: (record: CommandRecord) => void = () => {},
) {
  const { record, done } = await startCommand(work, request, (tx, ended) => {
    work.recordUse(tx, faultOfEnd(ended)?.status ?? 200);
  });
  begun(record);
  const ended = done === null ? record : await done;
  if (isOpen(ended)) return new Accepted(await showCommand(work.app, work.actor.tenant, ended));
  const fault = faultOfEnd(ended);
  const view = ended.output === null
    ? viewOf(ended, ended)
    : await showCommand(work.app, work.actor.tenant, ended);
  if (fault === null) return view;
  const { stdout, stderr, truncated } = view;
  throw new Fault(fault.code, fault.message, { ...fault.details, stdout, stderr, truncated });
}

/** True for a command that may still run: its caller gets 202 and looks again. */
const isOpen = ({ status }: CommandRecord) =>
  status === "pending_approval" || status === "queued" || status === "running";

/** Why a command that has ended has no result, or null when it has one, whatever its exit code. */
function faultOfEnd({ id, status, exit_code, signal, reason, timeout_ms }: CommandRecord) {
  if (status === "succeeded") return null;
  const details = { command_id: id };
  if (status === "lost") return new Fault("COMMAND_LOST", undefined, details);
  if (status === "timed_out") {
    const message = `The command did not finish within ${timeout_ms / 1000} s and was ended.`;
    return new Fault("COMMAND_TIMEOUT", message, details);
  }
  if (status === "rejected" || status === "expired") {
    return new Fault("COMMAND_BLOCKED", `The command did not run: ${reason}.`, details);
  }
  if (status !== "failed" || exit_code !== null || signal !== null) return null;
  return new Fault("UNAVAILABLE", `The command did not run: ${reason}.`, details);
}

/**
 * Accepts a command: inspects it, records it as running, and only then sends it. `done` is null when an
 * earlier request with the same Idempotency-Key has already ended. `inSettlement` may add to the commit
 * that records its end.
 */
export async function startCommand(
  work: Stepping,
  request: CommandRequest,
  inSettlement?: InSettlement,
): Promise<{ record: CommandRecord; done: Promise<CommandRecord> | null }> {
  const { app, actor } = work;
  const agent = await ownedAgent(work, request.agentId);
  const idempotency = idempotencyOf(work, request);
  const earlier = idempotency && await earlierCommand(work, idempotency);
  if (earlier !== null) {
    if (earlier.status === "denied") throw blocked(earlier);
    const done = app.commands.waitFor(earlier.id) ?? null;
    // One that nobody here waits for may have ended since it was read.
    const record = done === null && earlier.status === "running"
      ? await work.db.get(commands, actor.tenant, earlier.id) ?? earlier
      : earlier;
    return { record, done };
  }
  const settings = knownShield(app.store, actor.tenant) ??
    await shieldInForce(work.db, actor.tenant);
  const judgement = await judgeForAgent(work, request.command, agent, settings);
  const { result: shield, approvals, retentionDays, note } = judgement;
  const judged = { shield, policyVersion: settings.version, retentionDays };
  const fresh = newCommand(work, request, judged, idempotency);
  try {
    if (shield.verdict === "deny") return await block(work, agent, fresh, judgement);
    if (shield.verdict === "approve" || request.hold) {
      const { command } = await requestApproval(work, fresh, settings, approvals);
      note(fresh.id);
      return { record: command, done: null };
    }
    const link = app.links.of(actor.tenant, agent.id);
    if (link === undefined) throw offline(agent);
    const begun = await app.commands.begin(actor.tenant, fresh);
    const succeeded = note(fresh.id);
    const done = app.commands.start(actor.tenant, fresh, begun, link, inSettlement);
    if (succeeded !== null) {
      done.then(({ status }) => status === "succeeded" && succeeded(), () => {});
    }
    return { record: fresh, done };
  } catch (error) {
    // A twin with the same key was faster: its command is the one.
    if (error instanceof DuplicateError) return await startCommand(work, request, inSettlement);
    throw error;
  }
}

/** One command of the caller's agent, with its output. */
export async function getCommand(work: Work, agentId: string, id: string) {
  const record = await ownedCommand(work, agentId, id);
  return await showCommand(work.app, work.actor.tenant, record);
}

/** A command that the caller asked for, by its id alone. @throws {Fault} NOT_FOUND */
export async function getOwnCommand({ app, actor, db }: Work, id: string) {
  const { tenant } = actor;
  const record = app.commands.running(tenant, id) ?? await findCommand(db, app.store, tenant, id);
  if (record?.actor === actor.id) return await showCommand(app, tenant, record);
  throw new Fault("NOT_FOUND", "There is no such command of yours.");
}

/**
 * Asks the agent to end a command and waits a moment for that.
 * @throws {Fault} CONFLICT when it has ended already
 */
export async function cancelCommand(work: Stepping, agentId: string, id: string) {
  const record = await ownedCommand(work, agentId, id);
  return await aboutCommand(id, () => cancel(work, record));
}

async function cancel(work: Stepping, record: CommandRecord) {
  const { app, actor } = work;
  const { id } = record;
  if (record.status === "pending_approval" || record.status === "queued") {
    const withdrawn = await withdrawCommand(work, record);
    if (withdrawn !== null) return await showCommand(app, actor.tenant, withdrawn);
  }
  if (record.status !== "running") {
    const { status } = record;
    throw new Fault("CONFLICT", `The command is over: it is ${status}.`, { status });
  }
  const done = app.commands.waitFor(id);
  if (!app.commands.cancel(id, actor.id)) {
    const message = "The command runs through another instance, or its link is gone.";
    throw new Fault("UNAVAILABLE", message);
  }
  const ended = done && await within(app.ports.clock, CANCEL_WAIT_MS, done);
  return await showCommand(app, actor.tenant, ended ?? record);
}

const CANCEL_WAIT_MS = 5_000;

/** A command as every answer shows it. */
export async function showCommand(app: App, tenant: Tenant, record: CommandRecord) {
  return viewOf(record, await outputOf(app, tenant, record));
}

function viewOf(record: CommandRecord, { stdout, stderr }: Output) {
  return {
    command_id: record.id,
    agent_id: record.agent_id,
    command: record.command,
    status: record.status,
    approval_id: record.approval_id,
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

async function ownedCommand(work: Work, agentId: string, id: string): Promise<CommandRecord> {
  await ownedAgent(work, agentId);
  const { app, actor, db } = work;
  const record = app.commands.running(actor.tenant, id) ??
    await findCommand(db, app.store, actor.tenant, id);
  if (record !== null && record.agent_id === agentId) return record;
  throw new Fault("NOT_FOUND", "There is no such command.");
}

function newCommand(
  { app, actor, request }: Stepping,
  { agentId, command, timeoutMs }: CommandRequest,
  judged: Pick<Beginning, "shield" | "policyVersion" | "retentionDays">,
  idempotency: CommandRecord["idempotency"],
): CommandRecord {
  return beginRecord(app, {
    ...judged,
    id: app.ports.entropy.id("cmd"),
    agentId,
    command,
    timeoutMs,
    actor: actor.id,
    requestId: request.id,
    createdAtMs: app.ports.clock.now(),
    idempotency,
  });
}

/** Records the refusal and throws it. */
async function block(
  work: Stepping,
  agent: AgentRecord,
  fresh: CommandRecord,
  { result: shield, decidedBy }: Judgement,
): Promise<never> {
  const { app, actor } = work;
  await app.store.transact(async (tx) => {
    await alertOfDenial(app, tx, actor.tenant, fresh, shield);
    tx.insert(commands, actor.tenant, {
      ...fresh,
      status: "denied",
      started_at_ms: null,
      finished_at_ms: fresh.created_at_ms,
    });
    const { risk_score, threats, layer } = shield;
    emit(work, tx, actor.tenant, {
      type: "command_denied",
      resource: { type: "command", id: fresh.id },
      agentId: agent.id,
      details: {
        command_id: fresh.id,
        ...textForEvent(fresh.command),
        shield_result: { risk_score, threats, layer },
        policy_id: decidedBy,
        rule_id: denyingRule(shield),
        session_id: actor.sessionId ?? actor.id,
        correlation_id: work.request.id,
        user: actor.userId,
      },
    });
    work.recordUse(tx, 403);
  });
  throw blocked({ ...fresh, status: "denied" });
}

/** The fault of a command that the shield does not let pass. */
function blocked({ id, shield_result }: CommandRecord): Fault {
  const shield = shield_result as ShieldResult;
  const message = `The shield blocked the command. ${shield.explanation}`;
  return new Fault("COMMAND_BLOCKED", message, { command_id: id, shield_result: shield });
}

function idempotencyOf(
  { request }: Stepping,
  { agentId, command, timeoutMs, hold }: CommandRequest,
): CommandRecord["idempotency"] {
  const key = request.idempotencyKey;
  if (key === null) return null;
  checkIdempotencyKey(key);
  return { key, digest: sha256Hex(`${agentId}\n${timeoutMs}\n${hold ?? false}\n${command}`) };
}

/** The command that the same caller asked for under the same key. @throws {Fault} CONFLICT */
async function earlierCommand(
  { db, actor }: Stepping,
  { key, digest }: NonNullable<CommandRecord["idempotency"]>,
): Promise<CommandRecord | null> {
  const earlier = await db.find(commands, actor.tenant, "idempotency", [actor.id, key]);
  if (earlier === null || earlier.idempotency?.digest === digest) return earlier;
  throw usedForAnotherCall({ command_id: earlier.id });
}
