import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { NOTICES } from "../../core/events/types/notices.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { StreamClient } from "../support/stream.ts";
import { type Account, type Answer, World } from "../support/world.ts";
import { exec, linkAgent } from "../support/linked_agent.ts";

const NOTIFICATIONS = "/api/account/notifications";
const DAY_MS = 24 * 60 * 60 * 1000;
const RISKY = "systemctl stop nginx";

const list = async (world: World, as: string, query = "", headers = {}) =>
  (await world.call("GET", `${NOTIFICATIONS}${query}`, { as, headers })).body;

const typesOf = async (world: World, as: string): Promise<string[]> =>
  (await list(world, as)).notifications.map(({ type }: { type: string }) => type);

/** A command of an owner's that waits for approval. */
async function waiting(world: World) {
  const here = await linkAgent(world);
  const operator = await world.join(here.owner, ["operator"]);
  const viewer = await world.join(here.owner, ["viewer"]);
  const asked = await exec(world, here, RISKY);
  eq(asked.status, 202);
  return { ...here, operator, viewer, pid: asked.body.approval_id };
}

Deno.test("notifications: a request for approval reaches everybody who may decide it, and nobody else", async () => {
  await using world = await World.open();
  const here = await waiting(world);
  const [notice, ...more] = (await list(world, here.operator.token)).notifications;
  deq(more, []);
  const { id, details, ...rest } = notice;
  ok(id.startsWith("ntf_"));
  deq(rest, {
    type: "approval_requested",
    space: "live",
    resource_type: "approval",
    resource_id: here.pid,
    created_at: "2030-01-01T00:00:00.000Z",
    read_at: null,
  });
  deq([details.pid, details.command], [here.pid, RISKY]);
  // Nobody approves their own request here, and a viewer approves none.
  deq(await typesOf(world, here.owner.token), []);
  deq(await typesOf(world, here.viewer.token), []);
});

Deno.test("notifications: their owner marks them as read once, and can filter by that", async () => {
  await using world = await World.open();
  const { operator, viewer, owner } = await waiting(world);
  const stranger = await world.signUp();
  const [{ id }] = (await list(world, operator.token)).notifications;
  const read = (as: string, which = id): Promise<Answer> =>
    world.call("POST", `${NOTIFICATIONS}/${which}/read`, { as });
  for (const { token } of [viewer, owner, stranger]) {
    const theirs = await read(token);
    const missing = await read(token, "ntf_missing");
    for (const answer of [theirs, missing]) delete answer.body.error.details.request_id;
    deq([theirs.status, theirs.body], [404, missing.body]);
  }
  eq((await list(world, operator.token)).unread, 1);
  const first = await read(operator.token);
  deq([first.status, first.body.read_at], [200, "2030-01-01T00:00:00.000Z"]);
  world.clock.advance(1000);
  deq((await read(operator.token)).body, first.body);
  const after = await list(world, operator.token);
  deq([after.unread, after.pagination.total], [0, 1]);
  deq((await list(world, operator.token, "?unread=true")).notifications, []);
});

Deno.test("notifications: a key sees those of its creator that its own rights allow", async () => {
  await using world = await World.open();
  await world.signUp(); // On the host, only owners make keys.
  const { owner, operator } = await waiting(world);
  const admin = await world.join(owner, ["admin"]);
  const agent = await ScriptedAgent.connect(
    world,
    (await world.key(owner, ["agents:admin"])).value,
    { name: "second" },
  );
  await exec(world, { owner, agent }, RISKY);
  const weak = await world.key(admin, ["agents:read"]);
  const strong = await world.key(admin, ["approvals:read"]);
  const test = await world.key(admin, ["approvals:read"], { type: "test" });
  eq((await list(world, admin.token)).notifications.length, 1);
  eq((await list(world, operator.token)).notifications.length, 2);
  eq((await list(world, weak.value)).notifications.length, 0);
  eq((await list(world, strong.value)).notifications.length, 1);
  eq((await list(world, test.value)).notifications.length, 0);
  const inTest = { "x-relay-space": "test" };
  eq((await list(world, admin.token, "", inTest)).notifications.length, 0);
});

Deno.test("notifications: are streamed to their recipient in order with events, and again when resumed", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const operator = await world.join(here.owner, ["operator"]);
  const viewer = await world.join(here.owner, ["viewer"]);
  const key = await world.key(here.owner, ["agents:read", "approvals:read", "approvals:write"]);
  const streams = await Promise.all(
    [operator.token, viewer.token, key.value].map((as) =>
      StreamClient.open(world, as, { query: "?types=approval_requested,notification" })
    ),
  );
  const [theirs, ...others] = streams;
  const hello = (await theirs!.next())!;
  for (const other of others) await other.next();
  const { body } = await exec(world, here, RISKY);
  await world.app.log.flush();
  eq((await theirs!.next())!.data.event_type, "approval_requested");
  const live = (await theirs!.next())!;
  deq([live.event, live.data.resource_id], ["notification", body.approval_id]);
  deq(live.data, (await list(world, operator.token)).notifications[0]);
  for (const other of others) eq((await other.next())!.event, "event");
  // The same again from the log, and only for its owner.
  const again = async (as: string) => {
    const query = `?types=notification&last_event_id=${hello.id}`;
    const client = await StreamClient.open(world, as, { query });
    await client.next();
    return client;
  };
  const resumed = await again(operator.token);
  deq((await resumed.next())!.data, live.data);
  const none = await again(viewer.token);
  await world.advance(15_000);
  eq((await none.next())!.event, "heartbeat");
  for (const client of [...streams, resumed, none]) await client.cut();
});

Deno.test("notifications: an agent that is offline for a minute is reported once; one that returns is not", async () => {
  await using world = await World.open();
  const { owner, agent, key } = await linkAgent(world);
  const viewer = await world.join(owner, ["viewer"]);
  agent.drop();
  await world.advance(50_000);
  deq(await typesOf(world, owner.token), []);
  const back = await ScriptedAgent.connect(world, key.value, { identity: agent.identity });
  await world.advance(90_000);
  deq(await typesOf(world, owner.token), []);
  back.drop();
  await world.advance(10 * 60_000);
  deq(await typesOf(world, owner.token), ["agent_lost"]);
  deq(await typesOf(world, viewer.token), []);
});

Deno.test("notifications: a key that expires soon is reported to its creator and the administrators, once", async () => {
  await using world = await World.open();
  await world.signUp(); // On the host, only owners make keys.
  const owner = await world.signUp();
  const maker = await world.join(owner, ["maker"]);
  const role = { name: "maker", permissions: ["system:read", "system:write", "agents:read"] };
  await world.call("POST", "/api/v1/roles", { as: owner.token, body: role });
  const key = await world.key(maker, ["agents:read"], { expires_days: 90 });
  const revoked = await world.key(owner, ["agents:read"], { expires_days: 90 });
  await world.call("POST", `/api/v1/api-keys/${revoked.id}/revoke`, { as: owner.token });
  const logIn = async ({ email }: Account): Promise<string> => {
    const body = { email, password: "password 2" };
    return (await world.call("POST", "/api/v1/login", { body })).body.token;
  };
  const told = async (who: Account) => (await list(world, await logIn(who))).notifications;
  world.clock.nowMs += 83 * DAY_MS - 60_000;
  await world.advance(30_000);
  deq([await told(owner), await told(maker)], [[], []]);
  await world.advance(60_000);
  for (const who of [owner, maker]) {
    const [notice, ...more] = await told(who);
    deq([notice.type, notice.resource_id, more], ["api_key_expiring", key.id, []]);
    eq(notice.details.expires_at, "2030-04-01T00:00:00.000Z");
  }
  // Another expiry is reported again.
  const later = { as: await logIn(owner), body: { expires_at: "2030-05-01T00:00:00.000Z" } };
  eq((await world.call("PATCH", `/api/v1/api-keys/${key.id}`, later)).status, 200);
  for (const [days, count] of [[22, 1], [8, 2], [8, 2]] as const) {
    world.clock.nowMs += days * DAY_MS;
    await world.advance(60_000);
    eq((await told(owner)).length, count);
  }
});

Deno.test("notifications: a plan that refuses requests is reported to the administrators, once a day", async () => {
  const config = { plans: { enterprise: { requests_per_minute: 5 } } };
  await using world = await World.open({ config });
  const owner = await world.signUp();
  const exhaust = async () => {
    for (let n = 0; n < 10; n++) await world.call("GET", "/api/account/info", { as: owner.token });
  };
  await exhaust();
  await world.advance(60_000);
  const [notice] = (await list(world, owner.token)).notifications;
  deq([notice.type, notice.details], ["plan_limit_reached", { limit: 5 }]);
  await exhaust();
  await world.advance(60_000);
  eq((await list(world, owner.token)).notifications.length, 1);
});

Deno.test("notifications: the page for people has every type, with the right to see it", async () => {
  const page = await Deno.readTextFile("docs/accounts.md");
  const rows = page.split("## Notifications")[1]!.matchAll(
    /^\| `(\w+)` .*\| (?:`([\w:]+)`|none) +\|$/gm,
  );
  const told = Object.fromEntries([...rows].map(([, type, scope]) => [type, scope ?? null]));
  deq(told, Object.fromEntries(Object.entries(NOTICES).map(([type, { scope }]) => [type, scope])));
});
