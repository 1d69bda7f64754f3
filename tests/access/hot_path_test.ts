import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { rpc, tool } from "../mcp/client.ts";
import { overKv } from "../support/kv.ts";
import { World } from "../support/world.ts";
import { linkAgent } from "../support/linked_agent.ts";
import { connected } from "./mcp_clients/fixtures.ts";

Deno.test("hot path: a read, a command and a body of a known caller need no store read before the answer", async () => {
  const engine = await Deno.openKv(":memory:");
  let asked: Deno.KvKey[] | null = null;
  const kv = overKv(engine, {
    get: ((key: Deno.KvKey) => {
      asked?.push(key);
      return engine.get(key);
    }) as Deno.Kv["get"],
    getMany: ((keys: Deno.KvKey[]) => {
      asked?.push(...keys);
      return engine.getMany(keys);
    }) as unknown as Deno.Kv["getMany"],
    list: ((selector: { prefix: Deno.KvKey }, options: Deno.KvListOptions) => {
      asked?.push(selector.prefix);
      return engine.list(selector, options);
    }) as Deno.Kv["list"],
  });
  await using world = await World.open({ kv });
  const { owner, agent } = await linkAgent(world);
  const { value: as } = await world.key(owner, ["agents:read", "agents:write", "system:read"]);
  const { access_token } = await connected(world, owner);
  const judged = { commands: ["uptime"] };
  const asks = [
    () => world.call("GET", `/api/v1/agents/${agent.id}`, { as }),
    () => world.call("GET", `/api/exec/${agent.id}?command=uptime`, { as }),
    () => world.call("POST", "/api/shield/evaluate", { as, body: judged }),
    () => world.call("POST", "/api/shield/evaluate", { as: owner.token, body: judged }),
    () => rpc(world, "tools/list", {}, { as }),
    () => tool(world, "get_agent", { agent_id: agent.id }, { as: access_token }),
  ];
  for (const [n, ask] of asks.entries()) {
    eq((await ask()).status, 200);
    await world.settle();
    asked = [];
    eq((await ask()).status, 200);
    deq(asked, [], `${n}`);
    asked = null;
    await world.settle();
  }
});

Deno.test("hot path: a key that goes unused from one housekeeping to the next is forgotten", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value: used } = await world.key(owner, ["agents:read"]);
  const { value: unused } = await world.key(owner, ["agents:read"]);
  const { authenticator } = world.app;
  const isKnown = (value: string) => authenticator.knownHolder(value) !== null;
  for (const as of [used, unused]) {
    eq((await world.call("GET", "/api/v1/agents", { as })).status, 200);
    eq(isKnown(as), true);
  }
  for (let round = 0; round < 2; round++) {
    await world.running.housekeep();
    eq(isKnown(used), true);
  }
  eq(isKnown(unused), false);
  eq((await world.call("GET", "/api/v1/agents", { as: unused })).status, 200);
});
