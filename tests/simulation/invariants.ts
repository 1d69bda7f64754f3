import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { agents } from "../../kv/records/agent.ts";
import { approvals } from "../../kv/records/approval.ts";
import { commands } from "../../kv/records/command.ts";
import { deliveries } from "../../kv/records/webhook.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { assertLedger, assertLogs } from "../support/guarantees.ts";
import { readLedger } from "../../core/delivery/webhooks/ledger.ts";
import { ATTEMPTS_MAX, HEARD, type History, PER_MINUTE } from "./history.ts";

/** An attempt under way at a fault may take this long. */
const ATTEMPT_MS = 20_000;

/** Fails unless a history at rest has kept every promise. */
export async function assertTrue(history: History): Promise<void> {
  const { asker, cluster, rules, witness } = history;
  if (asker.failures.length > 0) throw asker.failures[0];
  eq(witness.broken.join("; "), "");
  const tenant = { org: history.credentials.owner.org, space: "live" } as const;
  rules.assertLimit(PER_MINUTE);
  assertAttempts(history);
  await cluster.drive(Promise.all([assertRecords(history, tenant), assertAgents(history, tenant)]));
  const { app } = cluster.awake[0]!.world;
  await cluster.drive(assertLogs(app));
  await cluster.drive(assertLedger(app));
}

async function assertRecords({ callers, cluster }: History, tenant: Tenant): Promise<void> {
  const { log, store } = cluster.awake[0]!.world.app;
  const rows = (await log.read(tenant, 0, 1_000_000)).map(({ json }) => JSON.parse(json));
  const told = new Set(
    rows.flatMap(({ resource_id, details }) => [resource_id, details?.command_id]),
  );
  for (const id of callers.accepted) {
    ok(await store.get(commands, tenant, id) !== null, `the accepted command ${id} is missing`);
    ok(told.has(id), `no event tells of the accepted command ${id}`);
  }
  for (const id of callers.approved) {
    const approval = await store.get(approvals, tenant, id);
    eq(approval?.status, "approved", `the approval ${id}`);
    ok(told.has(id), `no event tells of the approval ${id}`);
  }
  for (const { id, status } of (await store.list(commands, tenant, { limit: 1_000 })).items) {
    ok(status !== "queued" && status !== "running", `the command ${id} is ${status}`);
  }
  const { items } = await store.list(deliveries, tenant, { limit: 1_000 });
  const heard = rows.filter(({ event_type }) => HEARD.includes(event_type));
  deq(
    items.map(({ event_id }) => event_id).sort(),
    heard.map(({ event_id }) => event_id).sort(),
    "each event that the webhook wants has one delivery",
  );
  const { pending, held } = await readLedger(store);
  eq(pending + held, 0, `${pending} deliveries are pending`);
}

async function assertAgents(history: History, tenant: Tenant): Promise<void> {
  const { store } = history.cluster.awake[0]!.world.app;
  for (const agent of history.agents) {
    for (const [id, times] of agent.reached) eq(times, 1, `${id} reached ${agent.name} twice`);
    const record = await store.get(agents, tenant, agent.id);
    eq(record!.status === "online", agent.isLinked, `${agent.name} is ${record!.status}`);
  }
}

/** After an attempt was taken, another one follows only if its instance was disturbed meanwhile. */
function assertAttempts({ receiver }: History): void {
  for (const [id, attempts] of receiver.attempts) {
    const disturbed = attempts.filter(({ by, atMs }) =>
      by.disturbedAtMs >= atMs - ATTEMPT_MS
    ).length;
    ok(attempts.length <= ATTEMPTS_MAX + disturbed, `${id} had ${attempts.length} attempts`);
    const taken = attempts.findIndex(({ isTaken }) => isTaken);
    if (taken < 0 || taken === attempts.length - 1) continue;
    const { by, atMs } = attempts[taken]!;
    ok(by.disturbedAtMs >= atMs - ATTEMPT_MS, `${id} was delivered twice by ${by.name}`);
  }
}
