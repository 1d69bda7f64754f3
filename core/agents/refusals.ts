import type { Tenant } from "../../kv/store/collection.ts";
import type { Context } from "../context/context.ts";
import { type DetailsOf, emit, RELAY_ACTOR } from "../events/events.ts";

/** Records that one side of a link refused what the other sent, and why. */
export async function noteRefusal<T extends "receipt_refused" | "checkpoint_refused">(
  { store, ports, signals }: Pick<Context, "store" | "ports" | "signals">,
  tenant: Tenant,
  agentId: string,
  type: T,
  details: DetailsOf<T>,
): Promise<void> {
  const resource = { type: "agent", id: agentId } as const;
  await store.transact((tx) =>
    emit<T>({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, { type, resource, details })
  );
}
