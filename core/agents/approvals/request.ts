import { hash } from "node:crypto";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type ApprovalRecord, approvals } from "../../../kv/records/approval.ts";
import type { CommandRecord } from "../../../kv/records/command.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import {
  hasSoleMember,
  haveInCommon,
  notifyHolders,
  peopleBehind,
  without,
} from "../../access/access.ts";
import type { Stepping } from "../../work/work.ts";
import { countWaiting } from "./count.ts";
import { requestersOf } from "./votes.ts";
import { insertCommand } from "../commands/keys.ts";
import { textForEvent } from "../commands/text.ts";
import { threadOf } from "../commands/thread.ts";
import { emit } from "../../events/events.ts";
import { iso } from "../../codec/codec.ts";
import type { PolicyApprovals, ShieldResult } from "../../shield/shield.ts";
import type { ShieldInForce } from "../guard/in_force.ts";

/** Characters of a command that a notification shows. */
const SHOWN_CHARACTERS = 200;

/** How many people must approve, and of which roles; no role means any. */
export type RequiredApprovals = Pick<ApprovalRecord, "required" | "roles">;

/** The approvals that a command needs; a policy's rule takes precedence over the settings. */
export function requiredApprovals(
  { own }: ShieldInForce,
  ofPolicy: PolicyApprovals | null,
): RequiredApprovals {
  const { required = own.approvals.required, roles = own.approvals.roles } = ofPolicy ?? {};
  return { required, roles };
}

/** Holds a command back until people decide: commits both records and the event together. */
export async function requestApproval(
  work: Stepping,
  fresh: CommandRecord,
  shield: ShieldInForce,
  ofPolicy: PolicyApprovals | null,
): Promise<{ command: CommandRecord; approval: ApprovalRecord }> {
  const { actor, ports, store } = work;
  const { tenant } = actor;
  const id = ports.entropy.id("prc");
  return await store.transact(async (tx) => {
    const command = await insertCommand(tx, tenant, heldBy(id, fresh, shield));
    const needed = requiredApprovals(shield, ofPolicy);
    const approval = await insertApproval(work, tx, { ...fresh, id, command_id: fresh.id }, {
      shield,
      needed,
    });
    work.recordUse(tx, 202);
    return { command, approval };
  }, work.request.trace);
}

/** A command that waits for this request. Retention is counted from the end of the wait. */
export const heldBy = (
  approval_id: string,
  fresh: CommandRecord,
  { own }: ShieldInForce,
): CommandRecord => ({
  ...fresh,
  status: "pending_approval",
  approval_id,
  started_at_ms: null,
  expires_at_ms: fresh.expires_at_ms + own.approvals.expires_seconds * 1000,
});

/** What a request is about: a command, or the held commands of a fleet command. */
export type Subject =
  & Pick<
    ApprovalRecord,
    | "id"
    | "command_id"
    | "agent_id"
    | "agents"
    | "command"
    | "shield_result"
    | "alert_id"
    | "thread"
    | "created_at_ms"
  >
  /** When the command expires if it does not wait. */
  & Pick<CommandRecord, "expires_at_ms">
  & Named;

/** The first of the agents of a fleet command, by name, in the news of a request. */
interface Named {
  readonly agent_names?: readonly string[];
}

/** Makes a request for approval, with its event and notifications. */
export async function insertApproval(
  work: Stepping,
  tx: Tx,
  { id, command_id, agent_id, agents, command, shield_result, created_at_ms, ...about }: Subject,
  { shield, needed }: { readonly shield: ShieldInForce; readonly needed: RequiredApprovals },
): Promise<ApprovalRecord> {
  const { actor } = work;
  const { tenant } = actor;
  const { self_approval, expires_seconds } = shield.own.approvals;
  const waitMs = expires_seconds * 1000;
  const approval = tx.insert(approvals, tenant, {
    id,
    command_id,
    agent_id,
    ...(agents !== undefined && { agents }),
    command,
    command_sha256: hash("sha256", command),
    ...threadOf(about),
    policy_version: shield.version,
    shield_result,
    requested_by: actor.id,
    requested_user: actor.userId,
    requested_also: without(await peopleBehind(tx, actor), actor.userId),
    status: "pending",
    required: needed.required,
    roles: needed.roles,
    self_approval,
    decisions: [],
    reason: null,
    created_at_ms,
    expires_at_ms: created_at_ms + waitMs,
    resolved_at_ms: null,
    purge_at_ms: about.expires_at_ms + waitMs,
  });
  countWaiting(tx, tenant, 1);
  const { agent_names } = about;
  const named = agent_names === undefined ? {} : { agent_names };
  emitRequested(work, tx, tenant, approval, named);
  await notifyDeciders(work, tx, tenant, approval, named);
  return approval;
}

function emitRequested(
  work: Stepping,
  tx: Tx,
  tenant: Tenant,
  approval: ApprovalRecord,
  named: Named,
): void {
  const { risk_score, threats, layer } = approval.shield_result as ShieldResult;
  emit(work, tx, tenant, {
    type: "approval_requested",
    resource: { type: "approval", id: approval.id },
    agentId: approval.agent_id ?? undefined,
    thread: approval.thread,
    details: {
      ...agentsOf(approval),
      ...named,
      ...textForEvent(approval.command),
      command_id: approval.command_id,
      expires_at: iso(approval.expires_at_ms),
      pid: approval.id,
      requested_by: approval.requested_by,
      shield_result: { layer, risk_score, threats },
    },
  });
}

/** The number of agents, in events about a fleet command. */
export const agentsOf = ({ agents }: Pick<ApprovalRecord, "agents">): { agents?: number } =>
  agents === undefined ? {} : { agents: agents.count };

/** Notifies the people who may decide. */
async function notifyDeciders(
  work: Stepping,
  tx: Tx,
  tenant: Tenant,
  { id, command, command_id, agent_id, expires_at_ms, ...approval }: ApprovalRecord,
  named: Named,
): Promise<void> {
  const { agents, roles } = approval;
  const mayBeOwn = approval.self_approval || await hasSoleMember(tx, tenant.org);
  const details = {
    pid: id,
    command_id,
    ...(agent_id === null ? { ...agentsOf({ agents }), ...named } : { agent_id }),
    command: [...command].slice(0, SHOWN_CHARACTERS).join(""),
    requested_by: approval.requested_by,
    expires_at: iso(expires_at_ms),
  };
  const notice = {
    type: "approval_requested",
    resource: { type: "approval", id },
    ...(agent_id !== null && { agentId: agent_id }),
    details,
  } as const;
  await notifyHolders(
    work,
    tx,
    tenant,
    notice,
    "approvals:write",
    (user) =>
      (mayBeOwn || !haveInCommon(requestersOf(approval), [user.id])) &&
      (roles.length === 0 || roles.some((role) => user.roles.includes(role))),
  );
}
