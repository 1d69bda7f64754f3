import type { CommandRecord } from "../../../kv/records/command.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { emit } from "../../events/events.ts";
import type { Actor, RequestInfo } from "../../identity/identity.ts";
import { alertOfDenial, denialAlertId, denyingRule } from "../alerts/denied.ts";
import type { Judgement } from "../guard/judge.ts";
import type { SettlementContext } from "./settle.ts";
import { insertCommand } from "./keys.ts";
import { textForEvent } from "./text.ts";

interface Denying extends SettlementContext {
  readonly actor: Actor;
  readonly request: RequestInfo;
}

/** Records a command that the shield denies, with its event and its alert. */
export async function insertDenied(
  work: Denying,
  tx: Tx,
  fresh: CommandRecord,
  { result: shield, decidedBy }: Pick<Judgement, "result" | "decidedBy">,
): Promise<void> {
  const { actor, ports } = work;
  const rule = denyingRule(shield);
  const { thread = denialAlertId(actor.tenant, fresh.agent_id, rule) } = fresh;
  await alertOfDenial(ports, tx, actor.tenant, fresh, shield);
  await insertCommand(tx, actor.tenant, {
    ...fresh,
    thread,
    status: "denied",
    started_at_ms: null,
    finished_at_ms: fresh.created_at_ms,
  });
  const { risk_score, threats, layer } = shield;
  emit(work, tx, actor.tenant, {
    type: "command_denied",
    resource: { type: "command", id: fresh.id },
    agentId: fresh.agent_id,
    thread,
    details: {
      command_id: fresh.id,
      ...textForEvent(fresh.command),
      shield_result: { risk_score, threats, layer },
      policy_id: decidedBy,
      rule_id: rule,
      session_id: actor.sessionId ?? actor.id,
      correlation_id: work.request.id,
      user: actor.userId,
    },
  });
}
