import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { World } from "../support/world.ts";
import { forbidding, withRepository } from "./git_fixtures.ts";

Deno.test("agents.update: a policy that selects by label applies from the answer on, and the agent gets it at once", async () => {
  await using world = await World.open();
  const here = await withRepository(world);
  const { owner, host } = here;
  const policy = forbidding("nmap", "agents: { labels: { env: prod } }\n");
  await host.commit({ "policies/a.yaml": policy });
  eq((await here.apply()).status, 200);
  const { value } = await world.key(owner, ["agents:admin"]);
  const identity = newIdentity();
  const agent = await ScriptedAgent.connect(world, value, { identity, labels: { env: "lab" } });
  await world.settle();
  const run = async () =>
    (await world.call("GET", `/api/exec/${agent.id}?command=nmap`, { as: owner.token })).status;
  const sent = () =>
    agent.received.flatMap((frame) => frame.type === "policy" ? [frame.policies.length] : []);
  const label = (env: string | null) =>
    world.call("PATCH", `/api/v1/agents/${agent.id}`, {
      as: owner.token,
      body: { labels: { env } },
    });
  const before = sent().length;
  eq(await run(), 200);
  eq((await label("prod")).status, 200);
  eq(await run(), 403);
  await world.settle();
  deq(sent().slice(before), [1]);
  // The agent cannot leave the policy by reporting another label.
  const again = await ScriptedAgent.connect(world, value, { identity, labels: { env: "lab" } });
  eq(await run(), 403);
  eq((await label(null)).status, 200);
  eq(await run(), 200);
  await world.settle();
  eq(again.received.findLast(({ type }) => type === "policy")?.type, "policy");
});
