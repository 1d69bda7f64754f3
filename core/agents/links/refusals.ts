import { type AgentRecord, agents } from "../../../kv/records/agent.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Context } from "../../context/context.ts";
import { type DetailsOf, emit, RELAY_ACTOR } from "../../events/events.ts";

/** Records that one side of a link refused what the other sent, and why. */
export async function noteRefusal<T extends "receipt_refused" | "checkpoint_refused">(
  { store, ports, signals }: Pick<Context, "store" | "ports" | "signals">,
  tenant: Tenant,
  { id, name: earlier }: Pick<AgentRecord, "id" | "name">,
  type: T,
  details: Omit<DetailsOf<T>, "name">,
): Promise<void> {
  const resource = { type: "agent", id } as const;
  await store.transact(async (tx) => {
    // The agent may have been renamed since its link opened.
    const name = (await tx.get(agents, tenant, id))?.name ?? earlier;
    const named = { ...details, name } as DetailsOf<T>;
    emit<T>({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, { type, resource, details: named });
  });
}
