import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { ScriptedAgent } from "../../support/agent.ts";
import { committing, shared, strictKv } from "../../support/kv.ts";
import { type Answer, World } from "../../support/world.ts";
import { eventsOf } from "../../support/linked_agent.ts";
import { colleague, HOUR_MS, keyReason, KEYS, managerKey, rotate } from "./key_fixtures.ts";
import { rawRows } from "../../support/raw_rows.ts";

const DAY_MS = 24 * HOUR_MS;
const RIGHTS = ["agents:read", "agents:admin", "system:write"];

Deno.test("api_keys.rotate: answers both values, which work for exactly the grace period", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const as = await managerKey(world, owner);
  const get = async () => (await world.call("GET", `${KEYS}/${key.id}`, { as })).body;
  const before = await get();
  world.clock.nowMs += 1_500;
  const { status, body } = await rotate(world, key.id, as);
  eq(status, 200);
  const { new_key, message, ...rest } = body;
  deq(rest, {
    id: key.id,
    status: "rotating",
    old_key: key.value,
    grace_period_ends: "2030-01-02T00:00:01.500Z",
  });
  ok(/^svc_live_[0-9A-Za-z]{49}$/.test(new_key) && new_key !== key.value);
  ok(message.includes("2030-01-02T00:00:01.500Z"), message);
  const during = await get();
  const changed = {
    ...before,
    key: `${new_key.slice(0, 13)}…`,
    rotated_at: "2030-01-01T00:00:01.500Z",
  };
  const grace = { status: "rotating", grace_period_ends: "2030-01-02T00:00:01.500Z" };
  deq(during, { ...changed, ...grace });
  const [old, now] = [() => keyReason(world, key.value), () => keyReason(world, new_key)];
  deq([await old(), await now()], [null, null]);
  world.clock.nowMs += DAY_MS - 1;
  deq([await old(), await now(), (await get()).status], [null, null, "rotating"]);
  world.clock.nowMs += 1;
  deq([await old(), await now()], ["expired", null]);
  const after = await get();
  deq({ ...after, last_used: null }, changed);
  const refused = await world.call("GET", "/api/v1/agents", { as: key.value });
  ok(refused.body.error.message.includes("Use the new value"), refused.body.error.message);
  world.clock.nowMs = Date.parse(before.expires_at) - 1;
  eq(await now(), null);
  world.clock.nowMs += 1;
  deq([await old(), await now(), (await get()).status], ["expired", "expired", "expired"]);
});

Deno.test("api_keys.rotate: takes 0 to 168 hours; without grace the old value stops before the answer", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const as = await managerKey(world, owner);
  eq(await keyReason(world, key.value), null);
  const { body } = await rotate(world, key.id, as, 0);
  deq([body.status, body.grace_period_ends, body.old_key], [
    "active",
    "2030-01-01T00:00:00.000Z",
    key.value,
  ]);
  deq([await keyReason(world, key.value), await keyReason(world, body.new_key)], ["expired", null]);
  const shown = await world.call("GET", `${KEYS}/${key.id}`, { as });
  deq([shown.body.status, shown.body.grace_period_ends], ["active", null]);
  const again = await rotate(world, key.id, as, 168);
  deq([again.status, again.body.grace_period_ends], [200, "2030-01-08T00:00:00.000Z"]);
  // Only the last value before is remembered.
  eq(await keyReason(world, key.value), "unknown");
  world.clock.nowMs += 168 * HOUR_MS - 1;
  eq(await keyReason(world, body.new_key), null);
  world.clock.nowMs += 1;
  eq(await keyReason(world, body.new_key), "expired");
  eq(await keyReason(world, again.body.new_key), null);
});

Deno.test("api_keys.rotate: a grace period never outlives the key", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"], { expires_days: 1 });
  const as = await managerKey(world, owner);
  world.clock.nowMs += HOUR_MS;
  const { body } = await rotate(world, key.id, as);
  deq([body.status, body.grace_period_ends], ["rotating", "2030-01-02T00:00:00.000Z"]);
  world.clock.nowMs += 23 * HOUR_MS - 1;
  deq([await keyReason(world, key.value), await keyReason(world, body.new_key)], [null, null]);
  world.clock.nowMs += 1;
  deq([await keyReason(world, key.value), await keyReason(world, body.new_key)], [
    "expired",
    "expired",
  ]);
});

Deno.test("api_keys.rotate: again during grace, and of a key that has ended, is 409 and changes nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = await managerKey(world, owner);
  const [rotating, revoked, expired] = [
    await world.key(owner, ["agents:read"]),
    await world.key(owner, ["agents:read"]),
    await world.key(owner, ["agents:read"], { expires_days: 1 }),
  ];
  world.clock.nowMs += DAY_MS;
  const first = await rotate(world, rotating.id, as, 2);
  await world.call("POST", `${KEYS}/${revoked.id}/revoke`, { as });
  const refused = async (id: string) => {
    const before = (await world.call("GET", `${KEYS}/${id}`, { as })).body;
    const { status, body } = await rotate(world, id, as);
    deq([status, body.error.code], [409, "CONFLICT"]);
    deq((await world.call("GET", `${KEYS}/${id}`, { as })).body, before);
    return body.error;
  };
  const { message, details } = await refused(rotating.id);
  eq(details.grace_period_ends, first.body.grace_period_ends);
  ok(message.includes(first.body.grace_period_ends), message);
  await refused(revoked.id);
  await refused(expired.id);
  world.clock.nowMs += 2 * HOUR_MS - 1;
  await refused(rotating.id);
  world.clock.nowMs += 1;
  eq((await rotate(world, rotating.id, as)).status, 200);
});

/** What several rotations at once answered; exactly one of them succeeded. */
async function assertOneWinner(world: World, old: string, answers: Answer[]): Promise<void> {
  const codes = answers.map(({ status }) => status).sort();
  deq(codes, [200, ...answers.slice(1).map(() => 409)]);
  const won = answers.find(({ status }) => status === 200)!.body;
  eq(won.old_key, old);
  eq(await keyReason(world, won.new_key), null);
}

Deno.test("api_keys.rotate: two concurrent ones give one success and one 409, with grace and without", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (const [hours, callers] of [[24, 2], [0, 2], [1, 7], [0, 7]] as const) {
    const key = await world.key(owner, ["agents:read"]);
    const answers = Array.from(
      { length: callers },
      () => rotate(world, key.id, owner.token, hours),
    );
    await assertOneWinner(world, key.value, await Promise.all(answers));
    const rotations = (await eventsOf(world, owner, key.id))
      .filter(({ event_type }) => event_type === "api_key_rotated");
    eq(rotations.length, 1);
  }
});

Deno.test("api_keys.rotate: two concurrent ones on two instances over one store give one success and one 409", async () => {
  const engine = await Deno.openKv(":memory:");
  // Neither commits before both have read: two that follow each other may both succeed.
  let waiting: (() => void)[] | null = null;
  const together = committing(shared(engine), async (commit) => {
    if (waiting !== null) {
      await new Promise<void>((resolve) => {
        if (waiting!.push(resolve) < 2) return;
        waiting!.forEach((go) => go());
        waiting = null;
      });
    }
    return commit();
  });
  {
    const kv = strictKv(together);
    await using one = await World.open({ kv, sole: false });
    await using two = await World.open({ kv, sole: false, seed: 2, clock: one.clock });
    const owner = await one.signUp();
    for (const hours of [24, 0]) {
      const key = await one.key(owner, ["agents:read"]);
      await one.settle();
      await two.settle();
      waiting = [];
      const answers = [one, two].map((world) => rotate(world, key.id, owner.token, hours));
      await assertOneWinner(two, key.value, await Promise.all(answers));
    }
  }
  engine.close();
});

Deno.test("api_keys.rotate: every answer to the old value says so, none to the new one", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, [...RIGHTS, "agents:write"]);
  world.clock.nowMs += 1_999;
  const { body, headers } = await rotate(world, key.id, owner.token);
  deq([headers.get("deprecation"), headers.get("sunset")], [null, null]);
  const calls: [string, string, number][] = [
    ["GET", "/api/v1/agents", 200],
    ["GET", "/api/v1/agents/agt_none", 404],
    ["GET", "/api/v1/agents?limit=none", 400],
    ["GET", "/api/audit", 403],
    ["DELETE", `${KEYS}/${key.id}`, 403],
    ["GET", "/ws", 426],
    ["GET", "/health", 200],
  ];
  const told = [`@${Date.UTC(2030, 0, 1, 0, 0, 1) / 1000}`, "Wed, 02 Jan 2030 00:00:01 GMT"];
  for (const [method, path, status] of calls) {
    const old = await world.call(method, path, { as: key.value });
    eq(old.status, status, `${path} ${old.text}`);
    deq([old.headers.get("deprecation"), old.headers.get("sunset")], told, path);
    if (method === "DELETE") continue;
    const now = await world.call(method, path, { as: body.new_key });
    deq([now.headers.get("deprecation"), now.headers.get("sunset")], [null, null], path);
  }
});

Deno.test("api_keys.rotate: needs system:write and all rights of the key, now", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read", "policy:write"]);
  const narrow = await world.key(owner, ["system:write", "agents:read"]);
  const refused = await rotate(world, key.id, narrow.value);
  deq([refused.status, refused.body.error.code], [403, "INSUFFICIENT_SCOPES"]);
  const { required, granted } = refused.body.error.details;
  deq([required, granted.toSorted()], [["policy:write"], ["agents:read", "system:write"]]);
  eq(refused.text.includes("svc_live_"), false);
  const viewer = await colleague(world, owner, ["viewer"]);
  eq((await rotate(world, key.id, viewer)).body.error.code, "INSUFFICIENT_SCOPES");
  eq(await keyReason(world, key.value), null);
  const wide = await world.key(owner, ["system:write", "agents:read", "policy:write"]);
  eq((await rotate(world, key.id, wide.value)).status, 200);
  // A key that covers itself may give itself a new value.
  const self = await rotate(world, wide.id, wide.value);
  deq([self.status, self.body.old_key], [200, wide.value]);
});

Deno.test("api_keys.rotate: is in the log before the answer, without the values", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const manager = await world.key(owner, ["system:write", "agents:read"]);
  const key = await world.key(owner, ["agents:read"], { name: "ci" });
  const { body, headers } = await rotate(world, key.id, manager.value, 3);
  eq(headers.get("cache-control"), "no-store");
  const rows = await eventsOf(world, owner, key.id);
  deq(rows.map(({ event_type, actor, details }) => [event_type, actor, details]).at(-1), [
    "api_key_rotated",
    manager.id,
    { grace_period_hours: 3, name: "ci" },
  ]);
  const uses = (await eventsOf(world, owner, manager.id)).map(({ details }) => details);
  deq(uses.at(-1), { endpoint: "POST /api/v1/api-keys/{id}/rotate", status: 200 });
  for (const { value } of await rawRows(world.kv)) {
    const text = value instanceof Uint8Array
      ? new TextDecoder().decode(value)
      : Deno.inspect(value, { depth: 9 });
    for (const secret of [body.old_key, body.new_key]) ok(!text.includes(secret.slice(9)));
  }
});

Deno.test("api_keys.rotate: links of the old value close within 1 s of its end, those of the new one stay", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, RIGHTS);
  const as = await managerKey(world, owner);
  const before = await ScriptedAgent.connect(world, key.value);
  const { body: { new_key } } = await rotate(world, key.id, as, 2);
  const links = [
    before,
    await ScriptedAgent.connect(world, key.value),
    await ScriptedAgent.connect(world, new_key),
  ];
  const closed = async (ms: number) => {
    for (const link of links) link.send({ type: "heartbeat", status: "ok" });
    await world.advance(ms);
    return links.map((link) => link.closed?.code);
  };
  world.clock.nowMs += 2 * HOUR_MS - 1;
  deq(await closed(0), [undefined, undefined, undefined]);
  deq(await closed(1_000), [4401, 4401, undefined]);
  // Without grace the end comes with the answer.
  const last = await rotate(world, key.id, as, 0);
  links.push(await ScriptedAgent.connect(world, last.body.new_key));
  deq(links.map((link) => link.closed?.code), [4401, 4401, 4401, undefined]);
  deq(await closed(30_000), [4401, 4401, 4401, undefined]);
});

Deno.test("api_keys: the record of a working key has a notice when its value is older than 90 days", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"], { expires_days: 365 });
  const as = await managerKey(world, owner);
  const notice = async () => (await world.call("GET", `${KEYS}/${key.id}`, { as })).body.notice;
  world.clock.nowMs += 90 * DAY_MS;
  eq(await notice(), null);
  world.clock.nowMs += 1;
  ok((await notice()).includes("Rotate"));
  await rotate(world, key.id, as);
  eq(await notice(), null);
  world.clock.nowMs += 90 * DAY_MS + 1;
  ok((await notice()).includes("90 days"));
  await world.call("POST", `${KEYS}/${key.id}/revoke`, { as });
  eq(await notice(), null);
});

Deno.test("api_keys.rotate: a test key can be rotated from both spaces, a live key only from the live space", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const rights = ["system:write", "agents:read"];
  const [live, test] = [
    await world.key(owner, rights),
    await world.key(owner, rights, { type: "test" }),
  ];
  eq((await rotate(world, live.id, test.value)).status, 404);
  const first = await rotate(world, test.id, test.value, 0);
  deq([first.status, first.body.new_key.slice(0, 9)], [200, "svc_test_"]);
  const second = await rotate(world, test.id, live.value);
  deq([second.status, second.body.old_key], [200, first.body.new_key]);
});
