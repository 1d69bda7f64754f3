import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { StoreUnavailableError } from "../../../kv/engine/errors.ts";
import { type CommandRecord, commands } from "../../../kv/records/command.ts";
import { overKv } from "../../support/kv.ts";
import { World } from "../../support/world.ts";
import { countsOf, makeFleet, sent, silent, start } from "./fleet_fixtures.ts";

Deno.test("fleet_commands.cancel: a running command that could not be read at first is asked to end all the same", async () => {
  await using world = await World.open();
  const { owner, agents } = await makeFleet(world, 1);
  silent(agents);
  const { body } = await start(world, owner, { all: true });
  const { store } = world.app;
  const get = store.get.bind(store);
  store.get = async (of, tenant, id) => {
    if (of.name !== commands.name) return await get(of, tenant, id);
    store.get = get;
    throw new StoreUnavailableError();
  };
  const path = `/api/v1/commands/${body.id}/cancel`;
  eq((await world.call("POST", path, { as: owner.token, body: {} })).status, 200);
  await world.advance(1_000);
  eq(agents[0]!.received.at(-1)?.type, "cancel");
});

Deno.test("fleet_commands.start: approved commands whose release had no reply start while others are held", async () => {
  const kv = await Deno.openKv(":memory:");
  let losing = false;
  const atomic = () => {
    const op = kv.atomic();
    const set = op.set.bind(op), commit = op.commit.bind(op);
    let releases = false;
    op.set = (key, value, options) => {
      releases ||= losing && key[2] === commands.name &&
        (value as CommandRecord).status === "queued";
      return set(key, value, options);
    };
    op.commit = async () => {
      const result = await commit();
      if (!releases) return result;
      losing = false;
      throw new Error("connection reset before the reply came");
    };
    return op;
  };
  await using world = await World.open({ kv: overKv(kv, { atomic }) });
  const { owner, agents } = await makeFleet(world, 4);
  const admin = await world.join(owner, ["admin"]);
  const match = { commands: ["uptime"] };
  const rules = [
    {
      id: "two",
      verdict: "approve",
      match: { ...match, labels: { env: "test" } },
      approvals: { required: 2 },
    },
    { id: "one", verdict: "approve", match, approvals: { required: 1 } },
  ];
  const body = { policy: { rules } };
  const set = await world.call("PATCH", "/api/shield/settings", { as: owner.token, body });
  eq(set.status, 200, set.text);
  const { body: { id, approvals } } = await start(world, owner, { all: true });
  eq(approvals.length, 2);
  losing = true;
  for (const pid of approvals) {
    const approve = `/api/shield/approve/${pid}`;
    eq((await world.call("POST", approve, { as: admin.token })).status, 200);
    await world.settle();
  }
  await world.advance(2_000);
  eq(losing, false);
  deq(await countsOf(world, owner, id), { succeeded: 2, pending_approval: 2 });
  deq(sent(agents), [1, 0, 1, 0]);
});
