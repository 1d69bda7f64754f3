import { agents } from "../../kv/records/agent.ts";
import type { App } from "../work/work.ts";
import { iso } from "../codec/instant.ts";
import { notifyHolders } from "../access/people/notify.ts";

/** An agent that is back within this was not lost: networks break for a moment. */
const GRACE_MS = 60_000;
const BATCH_MAX = 100;

/** Why a link ended when nobody wanted it to. */
const LOSSES = new Set(["connection_lost", "heartbeat_lost", "relay_lost"]);

/** When an agent whose link ended so is taken for lost, if it does not come back. */
export const lostAt = (reason: string, nowMs: number): number | null =>
  LOSSES.has(reason) ? nowMs : null;

/** Tells people of agents that have been gone for a minute, once. */
export async function tellOfLost(app: App): Promise<void> {
  for (;;) {
    const before = [app.ports.clock.now() - GRACE_MS + 1];
    const { items } = await app.store.queued(agents, "lost", { limit: BATCH_MAX, before });
    for (const { tenant, record: { id } } of items) {
      await app.store.transact(async (tx) => {
        const agent = await tx.get(agents, tenant, id);
        if (agent === null || agent.lost_at_ms === null) return;
        if (agent.lost_at_ms > app.ports.clock.now() - GRACE_MS) return;
        tx.put(agents, tenant, { ...agent, lost_at_ms: null });
        const details = { name: agent.name, since: iso(agent.lost_at_ms) };
        const resource = { type: "agent", id };
        const notice = { type: "agent_lost", resource, details } as const;
        await notifyHolders(app, tx, tenant, notice, "agents:write");
      });
    }
    if (items.length < BATCH_MAX) return;
  }
}
