import type { Tenant } from "../../kv/collection.ts";
import type { AgentRecord } from "../../kv/records/agent.ts";
import type { App } from "../app.ts";
import { emit, RELAY_ACTOR } from "../events.ts";

/** Puts on record that an agent's results were not taken; never fails. */
export async function noteRefusedReceipt(
  app: App,
  tenant: Tenant,
  { id, name }: AgentRecord,
  commandIds: readonly string[],
  reason: string,
): Promise<void> {
  try {
    await app.store.transact((tx) =>
      emit({ app, actor: RELAY_ACTOR }, tx, tenant, {
        type: "receipt_refused",
        resource: { type: "agent", id },
        agentId: id,
        details: { command_ids: commandIds, name, reason },
      })
    );
  } catch (error) {
    app.ports.log.error("a refused receipt could not be recorded", { error: String(error) });
  }
}
