import { ok, strictEqual as eq } from "node:assert/strict";
import { agents } from "../../kv/records/agent.ts";
import { commands } from "../../kv/records/command.ts";
import { assertLedger, assertLogs } from "../support/guarantees.ts";
import type { History } from "./history.ts";

/** Fails unless a history at rest has kept every promise. */
export async function assertTrue(history: History): Promise<void> {
  const { cluster, owner } = history;
  const { app } = cluster.awake[0]!.world;
  const tenant = { org: owner.org, space: "live" } as const;
  const check = async () => {
    await assertLogs(app);
    await assertLedger(app);
    for (const { id } of history.acknowledged) {
      const record = await app.store.get(commands, tenant, id);
      ok(record !== null, `the acknowledged command ${id} is missing`);
    }
    const listed = await app.store.list(commands, tenant, { limit: 1_000 });
    for (const { id, status } of listed.items) {
      ok(status !== "queued" && status !== "running", `the command ${id} is ${status}`);
    }
    for (const agent of history.agents) {
      for (const [id, times] of agent.reached) eq(times, 1, `${id} reached ${agent.name} twice`);
      const record = await app.store.get(agents, tenant, agent.id);
      eq(record!.status === "online", agent.isLinked, `${agent.name} is ${record!.status}`);
    }
  };
  await cluster.drive(check());
}
