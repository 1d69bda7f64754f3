import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { backups } from "../../kv/records/backup.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Account, World } from "../support/world.ts";
import { AGENT_RIGHTS } from "../support/linked_agent.ts";

/** Agents that never answer the order of a backup. */
async function silent(world: World, owner: Account, count: number): Promise<ScriptedAgent[]> {
  const key = await world.key(owner, AGENT_RIGHTS);
  const agents = [];
  for (let n = 0; n < count; n++) {
    const agent = await ScriptedAgent.connect(world, key.value, { name: `silent-${n}` });
    const path = `/api/v1/gitops/backup/${agent.id}`;
    eq((await world.call("POST", path, { as: owner.token })).status, 202);
    agents.push(agent);
  }
  await world.quiet();
  return agents;
}

/** How many of them were asked for their configuration over their present link. */
const asked = (agents: readonly ScriptedAgent[]) =>
  agents.filter(({ received }) => received.some(({ type }) => type === "transfer")).length;

/** Answers that the order failed. */
function refuse(agent: ScriptedAgent): void {
  const order = agent.received.find((frame) => frame.type === "transfer");
  if (order?.type !== "transfer") throw new Error("it was not asked");
  agent.send({ type: "transfer_failed", job_id: order.job_id, message: "no" });
}

Deno.test("backup: one organization's silent agents take at most half of the slots", async () => {
  await using world = await World.open();
  const [here, there] = [await world.signUp(), await world.signUp()];
  const many = await silent(world, here, 9);
  eq(asked(many), 4);
  eq(asked(await silent(world, there, 3)), 3);
  // A waiting job starts when another has ended, not with the next sweep.
  for (const [at, agent] of many.slice(0, 5).entries()) {
    refuse(agent);
    await world.quiet();
    eq(asked(many), 5 + at);
  }
});

Deno.test("backup: jobs that wait for their organization's slots cost other agents' links nothing", async () => {
  await using world = await World.open();
  const [here, there] = [await world.signUp(), await world.signUp()];
  const many = await silent(world, here, 4);
  const tenant = { org: here.org, space: "live" } as const;
  const { links, transfers } = world.app;
  const of = links.of.bind(links);
  let looks = 0;
  links.of = (tenant, id) => {
    looks++;
    return of(tenant, id) ?? links.serving(tenant)[0];
  };
  for (let n = 0; n < 1_000; n++) transfers.begin(tenant, `agt_${n}`);
  looks = 0;
  await ScriptedAgent.connect(world, (await world.key(there, AGENT_RIGHTS)).value);
  await world.quiet();
  ok(looks < 10, `${looks} looks`);
  refuse(many[0]!);
  await world.quiet();
  ok(looks >= 1_000, `${looks} looks`);
});

Deno.test("backup: many jobs of absent agents do not delay those of present ones", async () => {
  await using world = await World.open();
  const [here, there] = [await world.signUp(), await world.signUp()];
  const [gone] = await silent(world, here, 1);
  const tenant = { org: here.org, space: "live" } as const;
  const { store } = world.app;
  const { items: [job] } = await store.list(backups, tenant, { limit: 1 });
  for (let n = 0; n < 100; n++) {
    const other = { ...job!, id: `bkp_${n}`, agent_id: `agt_${n}` };
    await store.transact((tx) => tx.insert(backups, tenant, other));
  }
  gone!.drop();
  world.app.transfers.begin = () => {}; // there is no room
  const waiting = await silent(world, there, 1);
  eq(asked(waiting), 0);
  Reflect.deleteProperty(world.app.transfers, "begin");
  await world.app.transfers.sweep();
  await world.quiet();
  deq([asked(waiting), world.logged], [1, []]);
});

Deno.test("backup: organizations take turns, however many agents of one are waiting", async () => {
  await using world = await World.open();
  const [one, two, third] = [await world.signUp(), await world.signUp(), await world.signUp()];
  const [first, second] = [await silent(world, one, 6), await silent(world, two, 6)];
  const last = await silent(world, third, 1);
  deq([asked(first), asked(second), asked(last)], [4, 4, 0]);
  refuse(first[0]!);
  await world.quiet();
  deq([asked(first), asked(second), asked(last)], [5, 4, 0]);
  refuse(first[1]!);
  await world.quiet();
  deq([asked(first), asked(second), asked(last)], [5, 4, 1]);
});
