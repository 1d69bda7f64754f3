import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { SCOPE_LIST } from "../../../core/identity/scopes.ts";
import { dump } from "../../support/kv.ts";
import { World } from "../../support/world.ts";
import { HOUR_MS, KEYS, rotate } from "./key_fixtures.ts";

const DAY_MS = 24 * HOUR_MS;

Deno.test("api_keys.create: a key made by a key ends with it by default, and never later", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const parent = await world.key(owner, SCOPE_LIST, { expires_days: 10 });
  const make = (body: Record<string, unknown>) =>
    world.call("POST", KEYS, {
      as: parent.value,
      body: { name: "child", scopes: ["agents:read"], ...body },
    });
  const end = (days: number) => new Date(Date.parse("2030-01-01") + days * DAY_MS).toISOString();
  eq((await make({})).body.expires_at, end(10));
  eq((await make({ expires_days: 10 })).body.expires_at, end(10));
  eq((await make({ expires_days: 3, type: "test" })).body.expires_at, end(3));
  const before = await dump(world.kv, [owner.org, "live", "api_keys"]);
  const refused = async (days: number, maximum: number) => {
    const { status, body: { error } } = await make({ expires_days: days });
    deq([status, error.code, error.details.maximum], [400, "VALIDATION_FAILED", maximum]);
    eq(error.details.issues[0].path, "body.expires_days");
  };
  await refused(11, 10);
  await refused(3650, 10);
  world.clock.nowMs += 1;
  await refused(10, 9);
  world.clock.nowMs += 9 * DAY_MS;
  await refused(1, 0);
  deq(await dump(world.kv, [owner.org, "live", "api_keys"]), before);
  eq((await make({})).body.expires_at, end(10));
});

Deno.test("api_keys.rotate: a key made by a key keeps its end, whoever rotates it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const parent = await world.key(owner, SCOPE_LIST, { expires_days: 2 });
  const child = await world.key({ ...owner, token: parent.value }, ["system:write"]);
  const { body } = await rotate(world, child.id, owner.token, 0);
  world.clock.nowMs += 2 * DAY_MS - 1;
  eq((await world.call("GET", "/api/account/info", { as: body.new_key })).status, 200);
  world.clock.nowMs += 1;
  eq((await world.call("GET", "/api/account/info", { as: body.new_key })).status, 401);
});

Deno.test("api_keys.create: a person's key lasts 90 days by default", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const body = { name: "mine", scopes: ["agents:read"] };
  const made = await world.call("POST", KEYS, { as: owner.token, body });
  eq(Date.parse(made.body.expires_at) - Date.parse(made.body.created_at), 90 * DAY_MS);
});
