import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { pairMachine, show } from "../agents/names_fixtures.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { pair } from "./pair.ts";

/** How many try for one name at once, half of them at each instance. */
const AT_ONCE = 12;

const everyOther = <T>([one, two]: readonly [T, T], n: number): T => n % 2 === 0 ? one : two;

const numbers = (names: readonly string[]) => new Set(names).size;

Deno.test("instances: simultaneous renames to one name give each agent a name of its own", async () => {
  await using cluster = await pair();
  const { one, two, owner, value } = cluster;
  const ids: string[] = [];
  for (let n = 0; n < AT_ONCE; n++) {
    ids.push((await ScriptedAgent.connect(one, value, { name: `vm-${n}` })).id);
  }
  const named = await Promise.all(
    ids.map((id, n) =>
      everyOther([one, two], n).call("PATCH", `/api/v1/agents/${id}`, {
        as: owner.token,
        body: { name: "db" },
      })
    ),
  );
  eq(numbers(named.map(({ body }) => body.name)), AT_ONCE);
  deq(named.map(({ body }) => body.id), ids);
  eq(named.filter(({ body }) => body.name === "db").length, 1);
  for (const [n, { body }] of named.entries()) {
    eq((await show(everyOther([two, one], n), owner, body.name)).id, ids[n]);
  }
});

Deno.test("instances: simultaneous pairings and first contacts under one name get different names", async () => {
  await using cluster = await pair();
  const { one, two, owner, value } = cluster;
  const given = await Promise.all(Array.from({ length: AT_ONCE }, async (_, n) => {
    const world = everyOther([one, two], n);
    if (n % 3 === 0) return (await pairMachine(world, owner, "db")).body.agent_name as string;
    const { id } = await ScriptedAgent.connect(world, value, { name: "db" });
    return (await show(world, owner, id)).name as string;
  }));
  eq(numbers(given), AT_ONCE);
  eq(given.filter((name) => name === "db").length, 1);
});

Deno.test("instances: a name that was freed at one instance means the next agent at the other", async () => {
  await using cluster = await pair();
  const { one, two, owner, value, agent } = cluster;
  eq((await show(two, owner, "web-1")).id, agent.id);
  eq((await one.call("DELETE", "/api/v1/agents/web-1", { as: owner.token })).status, 204);
  eq((await two.call("GET", "/api/v1/agents/web-1", { as: owner.token })).status, 404);
  const next = await ScriptedAgent.connect(two, value, { identity: newIdentity() });
  eq((await show(one, owner, "web-1")).id, next.id);
});

Deno.test("instances: labels that are set at one instance select policies for the agent at the other", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  const pushed: string[] = [];
  const forAgent = one.app.policyCache.forAgent.bind(one.app.policyCache);
  one.app.policyCache.forAgent = (tenant, set, labels) => {
    pushed.push(JSON.stringify(labels));
    return forAgent(tenant, set, labels);
  };
  const path = `/api/v1/agents/${agent.id}`;
  const body = { labels: { env: "prod" } };
  eq((await two.call("PATCH", path, { as: owner.token, body })).status, 200);
  await two.settle();
  await one.settle();
  deq(pushed, ['{"env":"prod"}']);
});
