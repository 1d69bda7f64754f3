import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import type { Tenant } from "../../../kv/store/collection.ts";
import { users } from "../../../kv/records/user.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { committing } from "../../support/kv.ts";
import { World } from "../../support/world.ts";
import { colleague } from "./key_fixtures.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import { rawRows, setCount } from "../../support/raw_rows.ts";

const PATH = "/api/v1/api-keys";

const ids = (answer: { body: { api_keys: { id: string }[] } }) =>
  answer.body.api_keys.map(({ id }) => id);

Deno.test("api_keys.list: pages newest first, without gaps or repetition, with the total", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const made: string[] = [];
  for (let n = 0; n < 7; n++) made.unshift((await world.key(owner, ["agents:read"])).id);
  const page = (query: string) => world.call("GET", `${PATH}${query}`, { as: owner.token });
  const first = await page("?limit=3");
  deq(ids(first), made.slice(0, 3));
  deq(first.body.pagination, { total: 7, limit: 3, offset: 0, has_more: true });
  const last = await page("?limit=3&offset=6");
  deq(ids(last), made.slice(6));
  deq(last.body.pagination, { total: 7, limit: 3, offset: 6, has_more: false });
  const exact = await page("?limit=4&offset=3");
  deq([ids(exact), exact.body.pagination.has_more], [made.slice(3), false]);
  deq(ids(await page("?offset=7")), []);
  eq((await page("")).body.pagination.limit, 50);
  await world.call("DELETE", `${PATH}/${made[0]}`, { as: owner.token });
  eq((await page("")).body.pagination.total, 6);
});

Deno.test("api_keys.list: a person sees both spaces together, newest first, and `type` chooses one", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const made: { id: string; type: string }[] = [];
  for (const type of ["live", "test", "test", "live", "test"]) {
    made.unshift({ id: (await world.key(owner, ["agents:read"], { type })).id, type });
  }
  const test = await world.key(owner, ["system:read"], { type: "test" });
  const live = await world.key(owner, ["system:read"]);
  const all = [{ id: live.id, type: "live" }, { id: test.id, type: "test" }, ...made];
  const page = (query = "", as = owner.token, headers = {}) =>
    world.call("GET", `${PATH}${query}`, { as, headers });
  const of = (wanted: string) => all.filter(({ type }) => type === wanted).map(({ id }) => id);
  const both = await page();
  deq(ids(both), all.map(({ id }) => id));
  deq(both.body.pagination, { total: 7, limit: 50, offset: 0, has_more: false });
  const middle = await page("?limit=3&offset=2");
  deq(ids(middle), all.slice(2, 5).map(({ id }) => id));
  deq(middle.body.pagination, { total: 7, limit: 3, offset: 2, has_more: true });
  for (const type of ["live", "test"]) {
    const one = await page(`?type=${type}`);
    deq([ids(one), one.body.pagination.total], [of(type), of(type).length]);
  }
  deq([ids(await page("", live.value)), ids(await page("", test.value))], [of("live"), of("test")]);
  deq(ids(await page("?type=test", live.value)), of("test"));
  deq(ids(await page("?type=live", test.value)), []);
  deq(ids(await page("", owner.token, { "x-relay-space": "test" })), of("test"));
  eq((await page("?type=other")).status, 400);
  const viewer = await world.join(owner, ["operator"]);
  const own = await world.call("GET", PATH, { as: viewer.token });
  deq(own.status, 200);
});

Deno.test("api_keys: last_used is the instant of the last use, now and after a restart of memory", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const lastUsed = async () => {
    await world.shareCounts();
    return (await world.call("GET", `${PATH}/${key.id}`, { as: owner.token })).body.last_used;
  };
  eq(await lastUsed(), null);
  await world.advance(5_000);
  await world.call("GET", "/api/v1/agents", { as: key.value });
  eq(await lastUsed(), "2030-01-01T00:00:05.000Z");
  await world.advance(400);
  await world.call("GET", "/api/v1/agents", { as: key.value });
  // A second later it is written down, and memory has forgotten it.
  await world.advance(1_000);
  eq(await lastUsed(), "2030-01-01T00:00:05.400Z");
  const { body } = await world.call("GET", PATH, { as: owner.token });
  eq(body.api_keys[0].last_used, "2030-01-01T00:00:05.400Z");
});

Deno.test("api_keys.delete: leaves nothing of the key, also right after its use", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  await world.call("GET", "/api/v1/agents", { as: key.value });
  await world.call("DELETE", `${PATH}/${key.id}`, { as: owner.token });
  await world.advance(5_000);
  for (const { kind: name } of await rawRows(world.kv, owner)) {
    eq(["api_key_usage@", "api_keys"].includes(String(name)), false, String(name));
  }
});

Deno.test("api_keys: a test key acts only in the test space", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const rights = [
    "agents:read",
    "agents:admin",
    "agents:write",
    "system:read",
    "system:write",
    "audit:write",
  ];
  const live = await world.key(owner, rights);
  const test = await world.key(owner, rights, { type: "test" });
  eq(test.value.startsWith("svc_test_"), true);
  const agent = await ScriptedAgent.connect(world, live.value);
  const asTest = (method: string, path: string, body?: unknown) =>
    world.call(method, path, { as: test.value, body });
  deq((await asTest("GET", "/api/v1/agents")).body.agents, []);
  eq((await asTest("GET", `/api/v1/agents/${agent.id}`)).status, 404);
  eq((await asTest("GET", `/api/exec/${agent.id}?command=id`)).status, 404);
  deq(ids(await asTest("GET", PATH)), [test.id]);
  eq((await asTest("GET", `${PATH}/${live.id}`)).status, 404);
  eq((await asTest("POST", `${PATH}/${live.id}/revoke`)).status, 404);
  const more = { name: "k", scopes: ["agents:read"] };
  const refused = await asTest("POST", PATH, { ...more, type: "live" });
  deq([refused.status, refused.body.error.code], [403, "FORBIDDEN"]);
  eq((await asTest("POST", PATH, { ...more, type: "test" })).body.type, "test");
  const own = await ScriptedAgent.connect(world, test.value);
  await asTest("POST", "/api/audit/event", { event_type: "rehearsal" });
  deq((await asTest("GET", "/api/v1/agents")).body.agents.map(({ id }: { id: string }) => id), [
    own.id,
  ]);
  const trail = await world.trail(owner);
  eq(trail.includes("rehearsal"), false);
  const inTest = { "x-relay-space": "test" };
  const seen = await world.call("GET", "/api/v1/agents", { as: owner.token, headers: inTest });
  deq(seen.body.agents.map(({ id }: { id: string }) => id), [own.id]);
  const ours = await world.call("GET", "/api/v1/agents", { as: owner.token });
  deq(ours.body.agents.map(({ id }: { id: string }) => id), [agent.id]);
});

Deno.test("api_keys: people without system rights manage only the keys that they made", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const viewer = await colleague(world, owner, ["viewer"]);
  const operator = await colleague(world, owner, []);
  const theirs = await world.key(owner, ["agents:read"]);
  const status = async (method: string, path: string, as: string) =>
    (await world.call(method, path, { as })).status;
  // A viewer has system:read, somebody without a role has nothing.
  eq(await status("GET", `${PATH}/${theirs.id}`, viewer), 200);
  eq(await status("POST", `${PATH}/${theirs.id}/revoke`, viewer), 404);
  eq(await status("DELETE", `${PATH}/${theirs.id}`, viewer), 404);
  eq(await status("GET", `${PATH}/${theirs.id}`, operator), 404);
  const none = await world.call("GET", PATH, { as: operator });
  deq([none.body.api_keys, none.body.pagination.total], [[], 0]);
  const same = await world.call("GET", `${PATH}/key_missing`, { as: operator });
  const hidden = await world.call("GET", `${PATH}/${theirs.id}`, { as: operator });
  for (const { body } of [same, hidden]) delete body.error.details.request_id;
  deq(hidden.body, same.body);
});

Deno.test("api_keys: somebody who lost the right to make keys still sees and revokes their own", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const tenant: Tenant = { org: owner.org, space: "live" };
  await world.app.store.transact(async (tx) => {
    tx.put(users, tenant, { ...(await tx.get(users, tenant, owner.userId))!, roles: [] });
  });
  const as = owner.token;
  deq(ids(await world.call("GET", PATH, { as })), [key.id]);
  eq((await world.call("GET", `${PATH}/${key.id}`, { as })).status, 200);
  eq((await world.call("POST", `${PATH}/${key.id}/revoke`, { as })).status, 200);
});

Deno.test("api_keys: a key without system rights sees itself and manages nothing, itself included", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const [key, other] = [
    await world.key(owner, ["agents:read"]),
    await world.key(owner, ["agents:read"]),
  ];
  const status = async (method: string, path: string) =>
    (await world.call(method, path, { as: key.value })).status;
  eq(await status("GET", `${PATH}/${key.id}`), 200);
  eq(await status("GET", `${PATH}/${other.id}`), 404);
  eq(await status("POST", `${PATH}/${key.id}/revoke`), 404);
  eq(await status("DELETE", `${PATH}/${key.id}`), 404);
  eq(await status("GET", "/api/v1/agents"), 200);
  const listed = await world.call("GET", PATH, { as: key.value });
  deq([ids(listed), listed.body.pagination.total], [[key.id], 1]);
  deq(ids(await world.call("GET", `${PATH}?offset=1`, { as: key.value })), []);
});

Deno.test("api_keys.create: a space has a maximum of keys, and deleting one allows another", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { id } = await world.key(owner, ["agents:read"]);
  await setCount(world.kv, apiKeys, { org: owner.org, space: "live" }, 10_000n);
  const body = { name: "one more", scopes: ["agents:read"] };
  const create = (more = {}) =>
    world.call("POST", "/api/v1/api-keys", { as: owner.token, body: { ...body, ...more } });
  const full = await create();
  eq([full.status, full.body.error.code].join(), "409,CONFLICT");
  eq((await create({ type: "test" })).status, 201);
  const deleted = await world.call("DELETE", `/api/v1/api-keys/${id}`, { as: owner.token });
  eq([deleted.status, (await create()).status].join(), "204,201");
});

Deno.test("api_keys.create: concurrent requests share commits", async () => {
  let commits = 0;
  const kv = committing(await Deno.openKv(":memory:"), (commit) => {
    commits++;
    return commit();
  });
  await using world = await World.open({ kv });
  const owner = await world.signUp();
  await world.settle();
  commits = 0;
  const body = { name: "one of many", scopes: ["agents:read"] };
  const made = await Promise.all(
    Array.from({ length: 30 }, () => world.call("POST", PATH, { as: owner.token, body })),
  );
  deq(new Set(made.map(({ status }) => status)), new Set([201]));
  ok(commits < 10, `${commits} commits`);
});
