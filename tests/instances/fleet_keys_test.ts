import { deepStrictEqual as deq } from "node:assert/strict";
import { commands, fleetCommands } from "../../kv/records/command.ts";
import { openMemoryStore } from "../cluster/shared_store.ts";
import { makeFleet, sent } from "../agents/commands/fleet_fixtures.ts";
import { overKv } from "../support/kv.ts";
import { World } from "../support/world.ts";

/** A store whose first commit of a row of this collection waits for `meanwhile`. */
function holding(kv: Deno.Kv, name: string, meanwhile: () => Promise<unknown>): Deno.Kv {
  let held = false;
  return overKv(kv, {
    atomic: () => {
      const op = kv.atomic();
      const set = op.set.bind(op), commit = op.commit.bind(op);
      let holds = false;
      op.set = (key, value, options) => {
        holds ||= key[2] === name;
        return set(key, value, options);
      };
      op.commit = async () => {
        if (holds && !held) {
          held = true;
          await meanwhile();
        }
        return await commit();
      };
      return op;
    },
  });
}

for (const slower of [commands, fleetCommands]) {
  for (
    const [verdict, command] of [["allow", "uptime"], ["approve", "rm /tmp/../etc/hosts"], [
      "deny",
      "rm -rf /",
    ]]
  ) {
    for (const linked of ["one", "two"]) {
      Deno.test(`Idempotency-Key: names one call, when the ${slower.name} are slower, the verdict is ${verdict} and the agent is at ${linked}`, async () => {
        const { opened: kv } = openMemoryStore();
        let faster = () => Promise.resolve<unknown>(null);
        await using one = await World.open({
          kv: holding(kv, slower.name, () => faster()),
          sole: false,
        });
        await using two = await World.open({ kv, sole: false, seed: 2, clock: one.clock });
        const { owner, agents } = await makeFleet(linked === "one" ? one : two, 1);
        const request = { as: owner.token, headers: { "idempotency-key": "k1" } };
        const single = (world: World) =>
          world.call("POST", "/api/v1/agents/web-01/commands", { ...request, body: { command } });
        const many = (world: World) =>
          world.call("POST", "/api/v1/commands", { ...request, body: { command, all: true } });
        const [first, second] = slower === commands ? [single, many] : [many, single];
        let other = 0;
        faster = async () => other = (await second(two)).status;
        const { status, body } = await first(one);
        await one.settle();
        await two.settle();
        deq([status, body.error?.code], [409, "CONFLICT"]);
        deq(other, second === single && verdict === "deny" ? 403 : 202);
        const { items } = await two.app.store.list(commands, { org: owner.org, space: "live" }, {
          limit: 9,
        });
        deq([items.length, sent(agents)], [1, [verdict === "allow" ? 1 : 0]]);
      });
    }
  }
}
