import type { Tenant } from "../../kv/store/collection.ts";
import type { App } from "../work/work.ts";
import { type DetailsOf, emit, RELAY_ACTOR } from "../events/events.ts";

/** Puts on record that one side did not take what the other sent, and why; never fails. */
export async function noteRefusal<T extends "receipt_refused" | "checkpoint_refused">(
  app: App,
  tenant: Tenant,
  agentId: string,
  type: T,
  details: DetailsOf<T>,
): Promise<void> {
  try {
    const resource = { type: "agent", id: agentId } as const;
    await app.store.transact((tx) =>
      emit<T>({ ...app, actor: RELAY_ACTOR }, tx, tenant, { type, resource, details })
    );
  } catch (error) {
    app.ports.log.error(`${type} could not be recorded`, { error: String(error) });
  }
}
