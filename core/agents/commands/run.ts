import { grantMember } from "./asked_by.ts";
import { type CommandRecord, commands, isOpen } from "../../../kv/records/command.ts";
import {
  checkIdempotencyKey,
  digestOfCall,
  earlierCall,
  once,
  type Stepping,
} from "../../work/work.ts";
import { Accepted } from "../../identity/identity.ts";
import { offline, ownedAgent } from "../manage.ts";
import { Fault } from "../../fault/fault.ts";
import { requestApproval } from "../approvals/request.ts";
import { judgeForAgent, type Judgement } from "../guard/judge.ts";
import { knownShield, shieldInForce } from "../guard/in_force.ts";
import type { ShieldResult } from "../../shield/shield.ts";
import { type Beginning, beginRecord } from "./begin.ts";
import { insertDenied } from "./denial.ts";
import { COMMAND_KEYS, FLEET_KEYS } from "./keys.ts";
import type { CommandParts } from "./parts.ts";
import type { InSettlement } from "./settle.ts";
import { showCommand, viewOf } from "./show.ts";
import { mustHaveAlert } from "./thread.ts";

/** The command that a caller wants to run. */
export interface CommandRequest {
  readonly agentId: string;
  readonly command: string;
  readonly timeoutMs: number;
  /** The alert that it answers. */
  readonly alertId?: string | undefined;
  /** Set when people must approve it, whatever the shield decides. */
  readonly hold?: true;
}

/**
 * Runs a command and waits for its end; calls `begun` at its beginning.
 * @throws {Fault} AGENT_NOT_FOUND, COMMAND_BLOCKED, AGENT_OFFLINE, COMMAND_LOST, COMMAND_TIMEOUT, CONFLICT
 */
export async function runCommand(
  work: Stepping,
  parts: CommandParts,
  request: CommandRequest,
  begun: (record: CommandRecord) => void = () => {},
) {
  const { record, done } = await startCommand(work, parts, request, (tx, ended) => {
    work.recordUse(tx, faultOfEnd(ended)?.status ?? 200);
  });
  begun(record);
  const ended = done === null ? record : await done;
  const show = () => showCommand(work.store, work.actor.tenant, ended);
  // It waits for approval, or its end is not known here: the caller asks again later.
  if (isOpen(ended)) return new Accepted(await show());
  const fault = faultOfEnd(ended);
  const view = ended.output === null ? viewOf(ended, ended) : await show();
  if (fault === null) return view;
  const { stdout, stderr, truncated } = view;
  throw new Fault(fault.code, fault.message, { ...fault.details, stdout, stderr, truncated });
}

/** Why a command ended without a result; null when it has one, whatever its exit code. */
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

/** A command and its end; `done` is null when it waits for approval, or ended under the same Idempotency-Key. */
interface Started {
  readonly record: CommandRecord;
  readonly done: Promise<CommandRecord> | null;
}

/**
 * Accepts a command: judges it, records it as running, and only then sends it. `inSettlement` may add to the commit
 * of its end.
 */
export async function startCommand(
  work: Stepping,
  parts: CommandParts,
  request: CommandRequest,
  inSettlement?: InSettlement,
): Promise<Started> {
  const idempotency = idempotencyOf(work, request);
  const first = () => startNew(work, parts, request, idempotency, inSettlement);
  if (idempotency === null) return await first();
  await ownedAgent(work, request.agentId);
  await earlierCall(FLEET_KEYS, work.db, work.actor, idempotency);
  return await once(COMMAND_KEYS, {
    find: () => earlierCall(COMMAND_KEYS, work.db, work.actor, idempotency),
    repeat: (earlier) => followCommand(work, parts, earlier),
    first,
  });
}

/** The earlier command of the same key, on any instance. @throws {Fault} COMMAND_BLOCKED */
async function followCommand(
  { actor, db, store }: Stepping,
  { commands: running, elsewhere }: CommandParts,
  earlier: CommandRecord,
): Promise<Started> {
  if (earlier.status === "denied") throw blocked(earlier);
  const followed = running.waitFor(earlier.id) === undefined && !store.sole
    ? await elsewhere.follow(actor.tenant, earlier.id)
    : null;
  const done = running.waitFor(earlier.id) ?? followed?.done ?? null;
  // A command that does not run here may have ended since it was read.
  const record = done === null && isOpen(earlier)
    ? await db.get(commands, actor.tenant, earlier.id) ?? earlier
    : earlier;
  return { record, done };
}

/** @throws {DuplicateError} when a simultaneous call took the key, and the faults of `startCommand` */
async function startNew(
  work: Stepping,
  parts: CommandParts,
  request: CommandRequest,
  idempotency: CommandRecord["idempotency"],
  inSettlement: InSettlement | undefined,
): Promise<Started> {
  const { actor, store } = work;
  const { commands: running, elsewhere, links } = parts;
  const { agent, settings, judgement } = await store.ahead.run(
    `command ${actor.tenant.space} ${actor.sessionId ?? actor.id} ${request.agentId}`,
    (db) => readAndJudge({ ...work, db }, parts, request),
  );
  const { result: shield, approvals, retentionDays, note } = judgement;
  const judged = { shield, policyVersion: settings.version, retentionDays };
  const fresh = newCommand(work, request, judged, idempotency);
  if (shield.verdict === "deny") return await block(work, fresh, judgement);
  if (shield.verdict === "approve" || request.hold) {
    const { command } = await requestApproval(work, fresh, settings, approvals);
    await note(fresh.id);
    return { record: command, done: null };
  }
  const holder = links.holder(agent);
  if (holder !== null) {
    const noted = await note(fresh.id);
    const handed = await elsewhere.handOver(actor.tenant, fresh, holder);
    rememberSuccess(handed.done, noted);
    return handed;
  }
  const link = links.of(actor.tenant, agent.id);
  if (link === undefined) throw offline(agent);
  const noted = await note(fresh.id);
  const begun = await running.begin(actor.tenant, fresh, link, work.request.trace);
  if (begun === null) throw offline(agent);
  const done = running.start(actor.tenant, fresh, begun, link, inSettlement);
  rememberSuccess(done, noted);
  return { record: fresh, done };
}

/**
 * Reads the agent and the settings, and judges the command by them.
 * @throws {Fault} AGENT_NOT_FOUND, NOT_FOUND for the alert
 */
async function readAndJudge(
  work: Stepping,
  parts: CommandParts,
  { agentId, command, alertId }: CommandRequest,
) {
  const agent = await ownedAgent(work, agentId);
  if (alertId !== undefined) await mustHaveAlert(work, alertId);
  const settings = knownShield(work.store, work.actor.tenant) ??
    await shieldInForce(work.db, work.actor.tenant);
  const span = work.request.trace?.child("shield");
  const judging = judgeForAgent(work, parts, command, agent, settings);
  span?.endWith(judging, ({ result: { verdict, risk_score } }) => ({
    "relay.verdict": verdict,
    "relay.risk_score": risk_score,
  }));
  return { agent, settings, judgement: await judging };
}

/** Notes a command's success in the session's memory. */
function rememberSuccess(done: Promise<CommandRecord>, succeeded: (() => void) | null): void {
  if (succeeded === null) return;
  done.then(({ status }) => status === "succeeded" && succeeded(), () => {});
}

function newCommand(
  { actor, config, ports, request }: Stepping,
  { agentId, command, timeoutMs, alertId }: CommandRequest,
  judged: Pick<Beginning, "shield" | "policyVersion" | "retentionDays">,
  idempotency: CommandRecord["idempotency"],
): CommandRecord {
  const record = beginRecord({ config }, {
    ...judged,
    id: ports.entropy.id("cmd"),
    agentId,
    command,
    timeoutMs,
    alertId,
    actor: actor.id,
    requestId: request.id,
    createdAtMs: ports.clock.now(),
    idempotency,
  });
  return Object.assign(record, request.trace?.carried, grantMember(actor));
}

/** Records the refusal and throws it. */
async function block(
  work: Stepping,
  fresh: CommandRecord,
  judgement: Judgement,
): Promise<never> {
  await work.store.transact(async (tx) => {
    await insertDenied(work, tx, fresh, judgement);
    work.recordUse(tx, 403);
  }, work.request.trace);
  throw blocked({ ...fresh, status: "denied" });
}

/** The fault of a command that the shield denies. */
function blocked({ id, shield_result }: CommandRecord): Fault {
  const shield = shield_result as ShieldResult;
  const message = `The shield blocked the command. ${shield.explanation}`;
  return new Fault("COMMAND_BLOCKED", message, { command_id: id, shield_result: shield });
}

function idempotencyOf(
  { request }: Stepping,
  { agentId, command, timeoutMs, hold, alertId }: CommandRequest,
): CommandRecord["idempotency"] {
  const key = request.idempotencyKey;
  if (key === null) return null;
  checkIdempotencyKey(key);
  const answered = alertId === undefined ? [] : [alertId];
  return { key, digest: digestOfCall(agentId, timeoutMs, hold ?? false, ...answered, command) };
}
