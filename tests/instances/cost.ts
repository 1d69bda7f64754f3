import { strictEqual } from "node:assert/strict";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { World } from "../support/world.ts";
import { type Calls, countedKv } from "./counted_kv.ts";

/** An instance on a shared store with a linked agent, and what one request costs. */
export async function openCosts() {
  const engine = await Deno.openKv(":memory:");
  const { kv, calls } = countedKv(engine);
  const world = await World.open({ kv, sole: false });
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:admin", "agents:read", "agents:write"]);
  const agent = await ScriptedAgent.connect(world, value, { identity: newIdentity() });
  await world.settle();
  return {
    agent,
    key: value,
    token: owner.token,
    /** The store's calls until a request is answered, the second time that it is made. */
    async cost(path: string, as: string): Promise<Calls> {
      await world.call("GET", path, { as });
      await world.settle();
      const before = { ...calls };
      const answer = await world.call("GET", path, { as });
      const cost = { reads: calls.reads - before.reads, commits: calls.commits - before.commits };
      strictEqual(answer.status, 200, answer.text);
      await world.settle();
      return cost;
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}
