import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { OutboundRequest } from "../../../core/ports/ports.ts";
import {
  CONCURRENCY,
  ORGANIZATION_MAX,
} from "../../../core/delivery/webhooks/scheduler/scheduler.ts";
import { WEBHOOKS_MAX } from "../../../core/delivery/webhooks/checks.ts";
import { EventLog } from "../../../kv/log/log.ts";
import { users } from "../../../kv/records/user.ts";
import { type WebhookRecord, webhooks } from "../../../kv/records/webhook.ts";
import { Store } from "../../../kv/store/store.ts";
import { committing, mortal, overKv, shared } from "../../support/kv.ts";
import { type Account, World } from "../../support/world.ts";
import { deliveriesOf, eventsOf } from "../../support/linked_agent.ts";
import {
  alter,
  answering,
  eventOf,
  happen,
  hear,
  letDie,
  liveOf,
  newest,
  responding,
} from "./hook_fixtures.ts";
import { FIRST_RETRY_MS, LADDER_MS } from "../../support/ladder.ts";
import { RetryPolicy } from "../../../core/delivery/jobs/retry_policy.ts";
import { rawRows } from "../../support/raw_rows.ts";

const PATH = "/api/v1/webhooks";
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const neitherPollsNorEnds = async (owners: number, most: number) => {
  await using world = await World.open();
  const hooks: { owner: Account; id: string }[] = [];
  for (let n = 0; n < owners; n++) {
    const owner = await world.signUp();
    for (let m = 0; m < 90 / owners; m++) hooks.push({ owner, id: (await hear(world, owner)).id });
  }
  await world.advance(1_000);
  const waiting: (() => void)[] = [];
  const full = Promise.withResolvers<void>(), all = Promise.withResolvers<void>();
  let asked = 0, open = false;
  world.network.request = (_: OutboundRequest) => {
    asked++;
    if (asked === most) full.resolve();
    if (asked === 4 * hooks.length) all.resolve();
    if (open) return Promise.resolve(responding(204));
    return new Promise((resolve) => waiting.push(() => resolve(responding(204))));
  };
  for (const { owner, id } of hooks) {
    await world.app.store.transact((tx) => {
      for (let n = 0; n < 4; n++) {
        world.app.deliveries.create(tx, liveOf(owner), id, {
          id: `${id}-${n}`,
          type: "ping",
          at: "2030-01-01T00:00:00.000Z",
          payload: {},
        });
      }
    });
  }
  await full.promise;
  await turn();
  const { underWay } = world.app.deliveries;
  world.app.deliveries.wake();
  await turn();
  const nextMs = world.clock.nextDueMs! - world.clock.now();
  open = true;
  waiting.forEach((end) => end());
  await all.promise;
  await world.settle();
  eq(underWay, most);
  ok(nextMs >= 1_000, `more were due, and the next look was to come in ${nextMs} ms`);
  for (const { owner, id } of hooks) {
    const { body } = await world.call("GET", `${PATH}/${id}`, { as: owner.token });
    eq(body.delivery_count, 4);
  }
};

Deno.test("Deliveries.wake: at full capacity it neither polls nor forgets what comes later", async () => {
  await neitherPollsNorEnds(3, CONCURRENCY);
  await neitherPollsNorEnds(1, ORGANIZATION_MAX);
});

Deno.test("Deliveries.wake: retries refused claims once a second", async () => {
  let refusing = false, refused = 0;
  const kv = committing(await Deno.openKv(":memory:"), (commit) => {
    if (!refusing) return commit();
    refused++;
    throw new Error("no disk");
  });
  await using world = await World.open({ kv });
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  answering(world, 500);
  await world.call("POST", `${PATH}/${hook.id}/test`, { as: owner.token });
  await world.settle();
  await world.advance(FIRST_RETRY_MS - 1);
  refusing = true;
  const before = world.logged.length;
  await world.advance(3_000);
  // It is due after 1 ms, and claimed again 1 s and 2 s later.
  const complaints = world.logged.slice(before).map(({ message }) => message);
  deq([refused, complaints], [3, ["the store takes no changes"]]);
  refusing = false;
  await world.advance(1_000);
  eq(world.network.sent.length, 2);
});

Deno.test("delivery: an internal error follows the ladder, and is logged", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { retry_policy: { max_retries: 2 } });
  await alter(world, owner, hook.id, { sealed_secret: "not sealed" });
  await happen(world, owner);
  await world.settle();
  const first = await newest(world, owner, hook.id);
  deq([first.status, first.error, first.final], ["failed", "internal", false]);
  await world.advance(1_800_000);
  const last = await newest(world, owner, hook.id);
  deq([last.status, last.error, last.final, last.attempt], ["failed", "internal", true, 2]);
  deq(world.network.sent, []);
  const messages = world.logged.map(({ message }) => message);
  deq(messages.filter((message) => message === "a delivery could not be sent").length, 2);
});

Deno.test("delivery: an unreadable policy counts as the default", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  await alter(world, owner, hook.id, { retry_policy: { max_retries: 99 } });
  answering(world, 500);
  await happen(world, owner);
  await world.advance(3_000_000);
  const { status, final, attempt } = await newest(world, owner, hook.id);
  deq([status, final, attempt, world.network.sent.length], ["failed", true, 5, 5]);
});

Deno.test("crash: a delivery whose process died in its last attempt ends, and the webhook stays enabled", async () => {
  const kv = await Deno.openKv(":memory:");
  const process = mortal(kv);
  const dead = await World.open({ kv: process.kv });
  const owner = await dead.signUp();
  const hook = await hear(dead, owner, { retry_policy: { max_retries: 1 } });
  dead.network.reply = () => {
    process.alive = false;
    return 200;
  };
  await happen(dead, owner);
  await letDie(dead);
  eq(dead.network.sent.length, 1);
  await using world = await World.open({ kv, seed: 2 });
  await world.advance(60_000);
  deq(world.network.sent, []);
  const { status, error, final, attempt } = await newest(world, owner, hook.id);
  deq([status, error, final, attempt], ["failed", "lost", true, 1]);
  eq((await world.call("GET", `${PATH}/${hook.id}`, { as: owner.token })).body.active, true);
});

Deno.test("fan-out: each of 70 webhooks gets its delivery, whichever are disabled meanwhile", async () => {
  const engine = await Deno.openKv(":memory:");
  let disable: (() => Promise<void>) | null = null;
  const kv = committing(engine, async (commit) => {
    const result = await commit();
    const then = disable;
    if (then !== null && await count(engine, "deliveries") > 0) {
      disable = null;
      await then();
    }
    return result;
  });
  await using world = await World.open({ kv, sole: false });
  const owner = await world.signUp();
  const ids: string[] = [];
  for (let n = 0; n < 70; n++) ids.push((await hear(world, owner)).id);
  const key = [owner.org, "live", "webhooks", ids[0]!];
  disable = async () => {
    const { value } = await engine.get<WebhookRecord>(key);
    await engine.set(key, { ...value!, active: false });
  };
  await happen(world, owner);
  await world.settle();
  eq(disable, null);
  const got: number[] = [];
  for (const id of ids) got.push((await deliveriesOf(world, owner, id)).pagination.total);
  deq(got, Array(70).fill(1));
});

Deno.test("fan-out: the largest events fit into its commits and into those of the attempts", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (let n = 0; n < 40; n++) await hear(world, owner);
  // With one character beyond Latin-1 the store takes two bytes for each.
  await happen(world, owner, "x".repeat(14_500) + "🚀");
  await world.settle();
  deq(world.logged, []);
  eq(world.network.sent.length, 40);
});

async function count(kv: Deno.Kv, name: string): Promise<number> {
  let n = 0;
  for (const { kind } of await rawRows(kv)) if (kind === name) n++;
  return n;
}

Deno.test("webhooks.create: refuses more webhooks than fan-out reads", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { id } = await hear(world, owner);
  const tenant = liveOf(owner);
  const { store } = world.app;
  const webhook = (await store.get(webhooks, tenant, id))!;
  for (let from = 1; from < WEBHOOKS_MAX; from += 111) {
    await store.transact((tx) => {
      for (let n = from; n < from + 111; n++) {
        tx.insert(webhooks, tenant, { ...webhook, id: `${n}` });
      }
    });
  }
  const body = { name: "x", url: "https://x.example", secret: "x".repeat(16) };
  const make = () =>
    world.call("POST", PATH, {
      as: owner.token,
      body: { ...body, events: ["agent_disconnected"] },
    });
  const refused = await make();
  deq([refused.status, refused.body.error.code], [409, "CONFLICT"]);
  eq(await store.count(webhooks, tenant), WEBHOOKS_MAX);
  await world.call("DELETE", `${PATH}/${id}`, { as: owner.token });
  eq((await make()).status, 201);
});

Deno.test("webhooks.create: a webhook whose commit succeeded unconfirmed gets its events", async () => {
  let losing = false;
  const kv = committing(await Deno.openKv(":memory:"), async (commit) => {
    const result = await commit();
    if (losing) throw new Error("the reply was lost");
    return result;
  });
  await using world = await World.open({ kv });
  const owner = await world.signUp();
  await world.settle();
  losing = true;
  const body = { name: "x", url: "https://x.example", secret: "x".repeat(16) };
  const unsure = await world.call("POST", PATH, {
    as: owner.token,
    body: { ...body, events: ["agent_disconnected"] },
  });
  losing = false;
  eq(unsure.status, 503);
  await happen(world, owner);
  await world.advance(1_000);
  eq(world.network.sent.length, 1);
});

Deno.test("delivery: a disabled webhook holds due deliveries and refuses a test", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  answering(world, 500);
  await happen(world, owner);
  await world.settle();
  const first = await newest(world, owner, hook.id);
  deq([first.status, first.held], ["failed", false]);
  await alter(world, owner, hook.id, { active: false });
  await world.advance(1_800_000);
  const { status, held, final, attempt, sent_at, next_attempt_at } = await newest(
    world,
    owner,
    hook.id,
  );
  deq([status, held, final, attempt], ["pending", true, false, 1]);
  deq([sent_at, next_attempt_at], [first.sent_at, null]);
  eq(world.network.sent.length, 1);
  answering(world, 204);
  const test = await world.call("POST", `${PATH}/${hook.id}/test`, { as: owner.token });
  deq([test.status, test.body.error.code], [409, "CONFLICT"]);
  eq(world.network.sent.length, 1);
});

Deno.test("delivery: ends without an attempt when the creator has lost the right", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  answering(world, 500);
  await happen(world, owner);
  await world.settle();
  const tenant = liveOf(owner);
  const setRoles = (roles: string[]) =>
    world.app.store.transact(async (tx) => {
      tx.put(users, tenant, { ...(await tx.get(users, tenant, owner.userId))!, roles });
    });
  await setRoles([]);
  await world.advance(FIRST_RETRY_MS + 1_000);
  await setRoles(["owner"]);
  await world.advance(1_800_000);
  eq(world.network.sent.length, 1);
  const { status, error, final, attempt } = await newest(world, owner, hook.id);
  deq([status, error, final, attempt], ["failed", "not_allowed", true, 1]);
  eq((await world.call("GET", `${PATH}/${hook.id}`, { as: owner.token })).body.active, true);
});

Deno.test("disable_on_gone: status 410 ends the delivery and disables the webhook", async () => {
  for (const disable_on_gone of [true, false]) {
    await using world = await World.open();
    const owner = await world.signUp();
    const hook = await hear(world, owner, {
      retry_policy: { disable_on_gone, auto_disable: false },
    });
    answering(world, 410);
    await happen(world, owner);
    await world.settle();
    const { status, final, http_status } = await newest(world, owner, hook.id);
    deq([status, final, http_status], ["failed", disable_on_gone, 410]);
    const shown = await world.call("GET", `${PATH}/${hook.id}`, { as: owner.token });
    eq(shown.body.active, !disable_on_gone);
    const trail = (await eventsOf(world, owner, hook.id)).map(({ event_type }) => event_type);
    deq(trail, disable_on_gone ? ["webhook_created", "webhook_disabled"] : ["webhook_created"]);
  }
});

Deno.test("respect_retry_after: the next attempt waits as the receiver asks, but at least as long as the ladder", async () => {
  const askedMs = FIRST_RETRY_MS + 70_000;
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { retry_policy: { respect_retry_after: true } });
  answering(world, 503, { "retry-after": `${askedMs / 1000}` });
  await happen(world, owner);
  await world.settle();
  const nextMs = async () => Date.parse((await newest(world, owner, hook.id)).next_attempt_at);
  eq(await nextMs() - world.clock.now(), askedMs);
  const soon = new Date(world.clock.now() + askedMs + 20_000).toUTCString();
  answering(world, 429, { "retry-after": soon });
  await world.advance(askedMs);
  eq(await nextMs() - world.clock.now(), LADDER_MS[1]);
});

Deno.test("respect_retry_after: a wait of 31 years is cut to the policy's maximum", async () => {
  for (
    const [status, respect_retry_after, againMs] of [
      [503, true, RetryPolicy.parse({}).max_delay_seconds * 1000],
      [503, false, FIRST_RETRY_MS],
      [500, true, FIRST_RETRY_MS],
    ] as const
  ) {
    await using world = await World.open();
    const owner = await world.signUp();
    const hook = await hear(world, owner, { retry_policy: { respect_retry_after } });
    answering(world, status, { "retry-after": "1000000000" });
    await happen(world, owner);
    await world.settle();
    const { error, next_attempt_at } = await newest(world, owner, hook.id);
    deq([error, Date.parse(next_attempt_at) - world.clock.now()], ["http", againMs]);
  }
});

Deno.test("delivery_count: counts that could not be written are written the next time", async () => {
  let full = false;
  const kv = committing(await Deno.openKv(":memory:"), (commit) => {
    if (full) throw new Error("no disk");
    return commit();
  });
  await using world = await World.open({ kv });
  const owner = await world.signUp();
  const ids: string[] = [];
  for (let n = 0; n < 70; n++) ids.push((await hear(world, owner)).id);
  await happen(world, owner);
  await world.settle();
  full = true;
  await world.advance(500);
  full = false;
  deq(world.logged.map(({ message }) => message), ["the store takes no changes"]);
  const counts = new Set<number>();
  for (const id of ids) {
    counts.add((await world.call("GET", `${PATH}/${id}`, { as: owner.token })).body.delivery_count);
  }
  deq([...counts], [1]);
});

Deno.test("Deliveries.sweep: an event that another instance numbered before it died is delivered", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv: overKv(kv, {}), sole: false });
  const owner = await world.signUp();
  await hear(world, owner);
  await world.settle();
  const store = new Store(shared(kv), { clock: world.clock, sole: false, hasQueue: false });
  const log = new EventLog(store, () => {});
  log.follow({ name: "webhooks", wants: () => true });
  await store.append(liveOf(owner), "agent_disconnected", eventOf(world, owner));
  await log.stop();
  await world.advance(30_000);
  eq(world.network.sent.length, 1);
});
