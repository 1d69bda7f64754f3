import { agents } from "../../../kv/records/agent.ts";
import type { Context } from "../../context/context.ts";
import { iso } from "../../codec/codec.ts";
import { notifyHolders } from "../../access/access.ts";

/** An agent that reconnects within this time was not lost. */
const GRACE_MS = 60_000;
const BATCH_MAX = 100;

/** Close reasons of links that nobody closed on purpose. */
const LOSSES = new Set(["connection_lost", "heartbeat_lost", "relay_lost"]);

/** When an agent is recorded as missing after its link closed for this reason; null for a closing on purpose. */
export const lostAt = (reason: string, nowMs: number): number | null =>
  LOSSES.has(reason) ? nowMs : null;

/** Notifies people, once, of each agent that has been gone for a minute. */
export async function notifyLostAgents(
  context: Pick<Context, "store" | "ports" | "signals">,
): Promise<void> {
  const { store, ports: { clock } } = context;
  for (;;) {
    const before = [clock.now() - GRACE_MS + 1];
    const { items } = await store.queued(agents, "lost", { limit: BATCH_MAX, before });
    for (const { tenant, record: { id } } of items) {
      await store.transact(async (tx) => {
        const agent = await tx.get(agents, tenant, id);
        if (agent === null || agent.lost_at_ms === null) return;
        if (agent.lost_at_ms > clock.now() - GRACE_MS) return;
        tx.put(agents, tenant, { ...agent, lost_at_ms: null });
        const details = { name: agent.name, since: iso(agent.lost_at_ms) };
        const resource = { type: "agent", id };
        const notice = { type: "agent_lost", resource, details } as const;
        await notifyHolders(context, tx, tenant, notice, "agents:write");
      });
    }
    if (items.length < BATCH_MAX) return;
  }
}
