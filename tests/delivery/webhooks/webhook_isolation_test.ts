import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { setImmediate } from "node:timers";
import { OutboundError, type OutboundResponse } from "../../../core/ports/ports.ts";
import { NOTIFICATIONS_MAX } from "../../../core/access/people/notify.ts";
import { CREATED_MAX } from "../../../core/delivery/webhooks/fan_out.ts";
import { ORGANIZATION_MAX } from "../../../core/delivery/webhooks/scheduler/scheduler.ts";
import { readLedger } from "../../../core/delivery/webhooks/ledger.ts";
import { notifications } from "../../../kv/records/notification.ts";
import { NO_LIMITS } from "../../support/no_limits.ts";
import { type Account, World } from "../../support/world.ts";
import { deliveriesOf, makeHook } from "../../support/linked_agent.ts";
import {
  act,
  answering,
  happen,
  hear,
  HOOKS,
  liveOf,
  newest,
  responding,
} from "./hook_fixtures.ts";
import { rawRows } from "../../support/raw_rows.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Makes what arrives at these addresses wait for its deadline. */
function blackHole(world: World, isDead: (url: string) => boolean): { reached: Set<string> } {
  const reached = new Set<string>();
  world.network.request = (request) => {
    if (!isDead(request.url)) {
      reached.add(request.url);
      return Promise.resolve(responding(204));
    }
    return new Promise<OutboundResponse>((_, reject) => {
      world.clock.after(request.deadlineMs, () => reject(new OutboundError("timeout", "silent")));
    });
  };
  return { reached };
}

Deno.test("isolation: a thousand due deliveries of a dead webhook never delay a healthy one's", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const dead = await hear(world, owner, { url: "https://dead.example.com/" });
  const { reached } = blackHole(world, (url) => url.includes("dead"));
  for (let n = 0; n < 1_000; n++) await happen(world, owner, `${n}`);
  await world.app.log.flush();
  const healthy = await hear(world, owner, { url: "https://healthy.example.com/" });
  await happen(world, owner, "last");
  await world.app.log.flush();
  // The clock stands still, so no attempt of the dead one has ended.
  while (!reached.has(healthy.url)) await turn();
  const sending = await world.call("GET", `${HOOKS}/${dead.id}/deliveries?status=sending`, {
    as: owner.token,
  });
  eq(sending.body.pagination.total, 4);
  answering(world, 204);
  await world.call("DELETE", `${HOOKS}/${dead.id}`, { as: owner.token });
  for (let n = 0; n < 4; n++) world.clock.advance(10_000);
});

Deno.test("isolation: with 60 dead webhooks each of 20 healthy ones is reached at once", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (let n = 0; n < 60; n++) {
    await hear(world, owner, { url: `https://dead${n}.example.com/` });
  }
  for (let n = 0; n < 20; n++) await hear(world, owner, { url: `https://good${n}.example.com/` });
  const { reached } = blackHole(world, (url) => url.includes("dead"));
  // Their first attempts show which ones are dead.
  await happen(world, owner);
  await world.app.log.flush();
  while (reached.size < 20) await turn();
  while (world.app.deliveries.underWay !== 60) await turn();
  world.clock.advance(10_000);
  await world.settle();
  const before = world.clock.now();
  reached.clear();
  for (let n = 0; n < 5; n++) await happen(world, owner, `${n}`);
  await world.app.log.flush();
  while (reached.size < 20) await turn();
  eq(world.clock.now(), before);
  answering(world, 204);
  world.clock.advance(10_000);
});

Deno.test("isolation: 100 slow webhooks of one organization do not delay another's", async () => {
  await using world = await World.open();
  const many = await world.signUp(), other = await world.signUp();
  for (let n = 0; n < 100; n++) await hear(world, many, { url: `https://dead${n}.example.com/` });
  const own = await hear(world, other, { url: "https://other.example.com/" });
  let late = true;
  const { reached } = blackHole(world, (url) => late && url.includes("dead"));
  for (let n = 0; n < 4; n++) await happen(world, many, `${n}`);
  await world.app.log.flush();
  while (world.app.deliveries.underWay <= ORGANIZATION_MAX - CREATED_MAX) await turn();
  await happen(world, other);
  await world.app.log.flush();
  // The clock stands still, so no attempt of the many has ended.
  while (!reached.has(own.url)) await turn();
  const { pending } = await readLedger(world.app.store);
  eq(
    pending,
    world.app.deliveries.underWay,
    "what has no room is not made yet, and waits in no line",
  );
  late = false;
  world.clock.advance(10_000);
});

/** Only deliveries are rate-limited. */
const { webhook_deliveries_per_minute: _live, ...ofKeys } = NO_LIMITS.limits.live;
const RATED = { ...NO_LIMITS, limits: { live: ofKeys, test: ofKeys, public_per_minute: null } };

Deno.test("isolation: another organization's recovery has its turn in each round, however many recoveries one has", async () => {
  await using world = await World.open();
  const owner = await world.signUp(), other = await world.signUp();
  const many: string[] = [];
  for (let n = 0; n < 64; n++) many.push((await hear(world, owner, { active: false })).id);
  for (let n = 0; n < 33; n++) await happen(world, owner); // three steps of a recovery
  const own = await hear(world, other, { active: false, url: "https://other.example.com/" });
  await happen(world, other);
  await world.settle();
  let left = -1;
  world.network.reply = async () => {
    left = (await readLedger(world.app.store)).held;
    return 204;
  };
  await Promise.all([
    ...many.map((id) => act(world, owner, id, "enable", { held: "discard" })),
    act(world, other, own.id, "enable"),
  ]);
  await world.settle();
  ok(left > 0, `all of the others' ${many.length * 33} had had their turn before it was sent`);
});

Deno.test("rate: a webhook that an API key created sends 50 a minute, then the rest, and drops none", async () => {
  await using world = await World.open({ config: RATED });
  const owner = await world.signUp();
  const key = await world.key(owner, ["system:write", "system:read", "agents:read"]);
  const byKey = await hear(world, { ...owner, token: key.value });
  const byUser = await hear(world, owner, { url: "https://other.example.com/" });
  const sentTo = (url: string) => world.network.sent.filter((request) => request.url === url);
  for (let n = 0; n < 120; n++) await happen(world, owner, `${n}`);
  await world.settle();
  deq([sentTo(byKey.url).length, sentTo(byUser.url).length], [50, 120]);
  const waiting = await deliveriesOf(world, owner, byKey.id, "?status=pending");
  eq(waiting.pagination.total, 70);
  await world.advance(59_999);
  eq(sentTo(byKey.url).length, 50);
  await world.advance(1);
  eq(sentTo(byKey.url).length, 100);
  await world.advance(60_000);
  eq(sentTo(byKey.url).length, 120);
});

Deno.test("rate: 10 a minute for a test key, over all webhooks that it created", async () => {
  await using world = await World.open({ config: RATED });
  const owner = await world.signUp();
  const rights = ["system:write", "system:read", "agents:read"];
  const key = await world.key(owner, rights, { type: "test" });
  for (let n = 0; n < 2; n++) {
    const { id } = await makeHook(world, { ...owner, token: key.value }, ["agent_created"]);
    for (let m = 0; m < 8; m++) {
      await world.call("POST", `${HOOKS}/${id}/test`, { as: key.value });
    }
  }
  await world.settle();
  eq(world.network.sent.length, 10);
  await world.advance(60_000);
  eq(world.network.sent.length, 16);
});

async function noticesOf(world: World, owner: Account, userId: string) {
  const { items } = await world.app.store.list(notifications, liveOf(owner), {
    index: "user",
    prefix: [userId],
    limit: 500,
  });
  return items;
}

Deno.test("auto-disable: each active owner and administrator has a notification, in the same commit as the change", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const admin = await world.join(owner, ["admin"]);
  const viewer = await world.join(owner, ["viewer"]);
  const stranger = await world.signUp();
  const hook = await hear(world, owner, { retry_policy: { max_retries: 1 } });
  answering(world, 500);
  await happen(world, owner);
  await world.settle();
  eq((await newest(world, owner, hook.id)).final, true);
  for (const { userId } of [owner, admin]) {
    const [notice, ...more] = await noticesOf(world, owner, userId);
    deq(more, []);
    const { id: _, ...rest } = notice!;
    deq(rest, {
      user_id: userId,
      type: "webhook_disabled",
      space: "live",
      resource_type: "webhook",
      resource_id: hook.id,
      details: { name: "hook", url: hook.url, attempts: 1, error: "http" },
      created_at_ms: world.clock.now(),
      read_at_ms: null,
      expires_at_ms: world.clock.now() + 90 * 24 * 60 * 60 * 1000,
    });
  }
  deq(await noticesOf(world, owner, viewer.userId), []);
  deq(await noticesOf(world, stranger, stranger.userId), []);
  // The row and the notification carry one versionstamp: they are one commit.
  const versions: string[] = [];
  for (const { versionstamp, kind } of await rawRows(world.kv, { org: owner.org, space: "live" })) {
    if (kind === "notifications" || kind === "webhooks") versions.push(versionstamp);
  }
  deq([versions.length, new Set(versions).size], [3, 1]);
});

Deno.test("notifications: a person has at most 100, the newest ones", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  answering(world, 410);
  const policy = { retry_policy: { disable_on_gone: true } };
  const hook = await hear(world, owner, policy);
  for (let n = 0; n < NOTIFICATIONS_MAX + 5; n++) {
    await happen(world, owner, `${n}`);
    await world.advance(1);
    await world.call("POST", `${HOOKS}/${hook.id}/enable`, { as: owner.token });
  }
  await world.settle();
  const notices = await noticesOf(world, owner, owner.userId);
  eq(notices.length, NOTIFICATIONS_MAX);
  ok(notices[0]!.created_at_ms > Date.UTC(2030, 0, 1) + 4);
});
