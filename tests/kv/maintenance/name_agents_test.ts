import { deepStrictEqual as deq, rejects, strictEqual as eq } from "node:assert/strict";
import { agentNames, agents } from "../../../kv/records/agent.ts";
import { devices } from "../../../kv/records/device.ts";
import { migrate, SCHEMA_KEY } from "../../../kv/maintenance/migrations.ts";
import { newIdentity, ScriptedAgent } from "../../support/agent.ts";
import type { Store } from "../../../kv/store/store.ts";
import { overKv } from "../../support/kv.ts";
import { putRaw, rawRows } from "../../support/raw_rows.ts";
import { World } from "../../support/world.ts";
import { pairMachine, show } from "../../agents/names_fixtures.ts";

const RIGHTS = ["agents:admin", "agents:read", "agents:write"];

/** The names before, in order of registration, and after. */
const NAMES: readonly (readonly [before: string, name: string, display_name: string | null])[] = [
  ["Web Server", "web-server", "Web Server"],
  ["web-1", "web-1", null],
  ["web-1", "web-1-3", "web-1"],
  ["web-1-2", "web-1-2", null],
  ["web server", "web-server-2", "web server"],
  ["agt_7", "agt-7", "agt_7"],
  ["日本", "agent", "日本"],
];

/** A world whose agents are stored as an earlier version stored them. */
async function olderStore() {
  // Only a store that is not cached shows what is written past it.
  const world = await World.open({ sole: false });
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const tenant = { org: owner.org, space: "live" } as const;
  const identity = newIdentity();
  const { credential } = await pairMachine(world, owner, "box", true);
  const labels = { env: "dev", os: "linux" };
  const machines: ScriptedAgent[] = [];
  for (const [n, [name]] of NAMES.entries()) {
    world.clock.nowMs += 1;
    const own = n === 0 ? { identity, labels } : { identity: newIdentity() };
    machines.push(
      await ScriptedAgent.connect(world, n === 0 ? credential : value, { name, ...own }),
    );
  }
  for (const machine of machines) machine.drop();
  await world.settle();
  for (const [n, { id }] of machines.entries()) {
    const { display_name: _, reported_labels: __, relay_labels: ___, ...stored } =
      (await world.app.store.get(agents, tenant, id))!;
    const earlier = { ...stored, name: NAMES[n]![0] };
    await putRaw(
      world.kv,
      agents,
      tenant,
      n === 0 ? { ...earlier, labels: { ...labels, env: "prod" } } : earlier,
    );
  }
  for (
    const { value: device } of await rawRows<{ id: string }>(world.kv, {
      ...tenant,
      kind: devices.name,
    })
  ) {
    const { agent_name: _, ...stored } = device as { id: string; agent_name: unknown };
    await putRaw(
      world.kv,
      devices,
      tenant,
      { ...stored, labels: { env: "prod" } } as { id: string },
    );
  }
  for (const { key } of await rawRows(world.kv, { ...tenant, kind: agentNames.name })) {
    await world.kv.delete(key);
  }
  await world.kv.set(SCHEMA_KEY, 2);
  return { world, owner, tenant, ids: machines.map(({ id }) => id), credential, identity, labels };
}

Deno.test("migrate: agents of an earlier version get names that fit, each once, and keep the earlier as display_name", async () => {
  const { world, owner, tenant, ids, credential, identity, labels } = await olderStore();
  await using _ = world;
  await migrate(world.app.store);
  for (const [n, id] of ids.entries()) {
    const { name, display_name } = await show(world, owner, id);
    deq([name, display_name], NAMES[n]!.slice(1));
    eq((await show(world, owner, name)).id, id);
  }
  const first = await show(world, owner, ids[0]!);
  deq([first.labels, first.reported_labels, first.relay_labels, first.capabilities], [
    { env: "prod", os: "linux" },
    { os: "linux" },
    { env: "prod" },
    [],
  ]);
  const back = await ScriptedAgent.connect(world, credential, { identity, name: "vm", labels });
  eq(back.id, ids[0]);
  const again = await show(world, owner, "web-server");
  deq([again.id, again.labels, again.reported_labels], [
    ids[0],
    { env: "prod", os: "linux" },
    labels,
  ]);
  const rows = await rawRows(world.kv, { ...tenant, kind: agentNames.name });
  eq(rows.length, NAMES.length);
});

Deno.test("migrate: names that a crash interrupted come out the same, and a second run changes nothing", async () => {
  const { world, owner, tenant, ids } = await olderStore();
  await using _ = world;
  for (let commits = 1; commits < NAMES.length; commits++) {
    let left = commits;
    const atomic = () => {
      if (left-- === 0) throw new Error("crash");
      return world.kv.atomic();
    };
    const store = { kv: overKv(world.kv, { atomic }) } as Store;
    await rejects(migrate(store), /crash/);
  }
  for (let run = 0; run < 2; run++) {
    await world.kv.set(SCHEMA_KEY, 2);
    await migrate(world.app.store);
    const names = await Promise.all(ids.map(async (id) => (await show(world, owner, id)).name));
    deq(names, NAMES.map(([, name]) => name));
    const rows = await rawRows(world.kv, { ...tenant, kind: agentNames.name });
    eq(rows.length, NAMES.length);
  }
});
