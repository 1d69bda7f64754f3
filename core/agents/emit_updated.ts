import type { AgentRecord } from "../../kv/records/agent.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import type { Tx } from "../../kv/store/tx.ts";
import { emit } from "../events/events.ts";
import { sameLabels } from "./labels.ts";

/** Records a change of an agent's name or of the relay's labels. Returns false, and records nothing, without one. */
export function emitUpdated(
  by: Parameters<typeof emit>[0],
  tx: Tx,
  tenant: Tenant,
  before: AgentRecord,
  after: AgentRecord,
): boolean {
  const { name, relay_labels } = after;
  const isRenamed = name !== before.name;
  const isRelabelled = !sameLabels(relay_labels, before.relay_labels);
  if (!isRenamed && !isRelabelled) return false;
  emit(by, tx, tenant, {
    type: "agent_updated",
    resource: { type: "agent", id: after.id },
    details: {
      name,
      ...(isRenamed && { previous_name: before.name }),
      ...(isRelabelled && { relay_labels }),
    },
  });
  return true;
}
