import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { World } from "../../support/world.ts";
import { rawRows } from "../../support/raw_rows.ts";

const PATH = "/api/v1/api-keys";
const IN_TEST = { "x-relay-space": "test" };

Deno.test("api_keys.create: nobody makes a live key from the test space", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const create = (type: string) =>
    world.call("POST", PATH, {
      as: owner.token,
      headers: IN_TEST,
      body: { name: "k", scopes: ["agents:read"], type },
    });
  const { status, body } = await create("live");
  deq([status, body.error.code], [403, "FORBIDDEN"]);
  deq((await world.call("GET", PATH, { as: owner.token })).body.api_keys, []);
  eq((await create("test")).status, 201);
});

Deno.test("api_keys: the live space also manages test keys, and its trail shows it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const manager = await world.key(owner, ["system:read", "system:write", "agents:read"]);
  const idle = await world.key(owner, ["agents:read"]);
  for (const as of [owner.token, manager.value]) {
    const key = await world.key(owner, ["agents:read"], { type: "test" });
    await world.advance(1_000);
    await world.call("GET", "/api/v1/agents", { as: key.value });
    const path = `${PATH}/${key.id}`;
    eq((await world.call("GET", path, { as: idle.value })).status, 404);
    await world.shareCounts();
    const seen = await world.call("GET", path, { as });
    deq([seen.body.type, seen.body.last_used], [
      "test",
      new Date(world.clock.nowMs).toISOString(),
    ]);
    const revoked = await world.call("POST", `${path}/revoke`, { as });
    deq([revoked.status, revoked.body.status], [200, "revoked"]);
    const refused = await world.call("GET", "/api/v1/agents", { as: key.value });
    deq([refused.status, refused.body.error.details.reason], [401, "revoked"]);
    eq((await world.call("DELETE", path, { as })).status, 204);
    for (const headers of [{}, IN_TEST]) {
      eq((await world.call("GET", path, { as: owner.token, headers })).status, 404);
    }
    const { body } = await world.call("GET", `/api/audit?resource_id=${key.id}`, {
      as: owner.token,
    });
    deq(body.events.map(({ event_type }: { event_type: string }) => event_type), [
      "api_key_deleted",
      "api_key_revoked",
      "api_key_created",
    ]);
  }
  for (const { key, kind } of await rawRows(world.kv, { org: owner.org, space: "test" })) {
    eq(kind.startsWith("api_keys") && !kind.endsWith("#"), false, String(key));
  }
});

Deno.test("api_keys: a list shows a person both spaces and a key its own, and the test space sees no live key", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const rights = ["system:read", "system:write"];
  const live = await world.key(owner, rights);
  const test = await world.key(owner, rights, { type: "test" });
  const list = async (as: string, headers = {}) => {
    const { body } = await world.call("GET", PATH, { as, headers });
    return body.api_keys.map(({ id }: { id: string }) => id);
  };
  deq([await list(owner.token), await list(live.value)], [[test.id, live.id], [live.id]]);
  deq([await list(owner.token, IN_TEST), await list(test.value)], [[test.id], [test.id]]);
  for (const [as, headers] of [[owner.token, IN_TEST], [test.value, {}]] as const) {
    const seen = await world.call("GET", `${PATH}/${live.id}`, { as, headers });
    const gone = await world.call("DELETE", `${PATH}/${live.id}`, { as, headers });
    deq([seen.status, gone.status], [404, 404]);
  }
});
