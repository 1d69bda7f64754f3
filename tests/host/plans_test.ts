import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SYSTEM } from "../../kv/store/collection.ts";
import { plans } from "../../kv/records/plan.ts";
import { committing, overKv, shared } from "../support/kv.ts";
import { type Account, type Answer, World } from "../support/world.ts";
import { deliveriesOf } from "../support/linked_agent.ts";
import { answering, happen, hear, HOOKS } from "../delivery/webhooks/hook_fixtures.ts";

const MINUTE_MS = 60_000;

/** A host and a guest, at the beginning of a minute, with the limits of the plans and no others. */
async function two(config: Record<string, unknown> = {}, kv?: Deno.Kv) {
  const world = await World.open({ config, ...kv && { kv, sole: false } });
  const host = await world.signUp();
  const guest = await world.signUp();
  await world.advance(MINUTE_MS);
  return { world, host, guest };
}

const get = (world: World, { token }: Account, path: string) =>
  world.call("GET", `/api/admin/${path}`, { as: token });

/** What a caller's next response says of the plan's limit. */
const limitNow = async (world: World, { token }: Account) =>
  Number((await world.call("GET", "/api/account/info", { as: token })).headers.get(
    "x-ratelimit-limit",
  ));

Deno.test("plans: the built-in plans exist from the first start, with their limits", async () => {
  const { world, host } = await two();
  await using _ = world;
  const { body } = await get(world, host, "plans");
  deq(
    body.plans.map((plan: Record<string, unknown>) => [plan.name, plan.requests_per_minute]).sort(),
    [["Business", 2000], ["Enterprise", 2_147_483_647], ["Starter", 100], ["Team", 500]],
  );
  eq(body.pagination.total, 4);
});

Deno.test("accounts: a new plan applies from the next request, with a subscription and an order, without proration", async () => {
  const { world, host, guest } = await two();
  await using _ = world;
  eq(await limitNow(world, guest), 100);
  await world.call("PUT", "/api/admin/plans/team", { as: host.token, body: { price: 49.5 } });
  const path = `/api/admin/accounts/${guest.org}/plan`;
  const answer = await world.call("PUT", path, { as: host.token, body: { plan_id: "team" } });
  eq(answer.status, 200);
  deq(
    [answer.body.order.amount, answer.body.order.proration, answer.body.subscription.status],
    [49.5, "none", "active"],
  );
  eq(await limitNow(world, guest), 500);
  const { body: { subscriptions } } = await get(world, guest, "subscriptions");
  deq(
    subscriptions.map((some: Record<string, unknown>) => [some.plan_id, some.status]),
    [["starter", "ended"], ["team", "active"]],
  );
  const { body: { orders } } = await get(world, guest, "orders");
  deq(orders.map((order: Record<string, unknown>) => order.id), [answer.body.order.id]);
  eq((await world.call("PUT", path, { as: host.token, body: { plan_id: "team" } })).status, 409);
  const unknown = await world.call("PUT", path, { as: host.token, body: { plan_id: "none" } });
  deq([unknown.status, unknown.body.error.details.issues[0].path], [400, "body.plan_id"]);
  ok((await world.trail(guest)).includes("account_plan_changed"));
  ok((await world.trail(host)).includes("account_plan_changed"));
});

Deno.test("plans: a changed limit applies from the next request of every account with the plan", async () => {
  const { world, host, guest } = await two();
  await using _ = world;
  const key = await world.key(guest, ["agents:read"]);
  const first = await world.call("GET", "/api/v1/agents", { as: key.value });
  eq(first.headers.get("x-ratelimit-limit"), "100");
  const body = { requests_per_minute: 7 };
  await world.call("PUT", "/api/admin/plans/starter", { as: host.token, body });
  eq(await limitNow(world, guest), 7);
  const answer = await world.call("GET", "/api/v1/agents", { as: key.value });
  eq(answer.headers.get("x-ratelimit-limit"), "7");
});

Deno.test("plans: the configuration of a plan takes precedence and cannot be changed elsewhere", async () => {
  const { world, host, guest } = await two({ plans: { starter: { requests_per_minute: 42 } } });
  await using _ = world;
  eq(await limitNow(world, guest), 42);
  const plan = (await get(world, guest, "plans")).body.plans[0];
  deq([plan.requests_per_minute, plan.limit_source], [42, "configuration"]);
  const body = { requests_per_minute: 7 };
  const refused = await world.call("PUT", "/api/admin/plans/starter", { as: host.token, body });
  eq(refused.status, 409);
  eq(await limitNow(world, guest), 42);
});

Deno.test("plans: the first organization starts on `enterprise`, which is shown, and later ones on the default plan", async () => {
  const { world, host, guest } = await two({});
  await using _ = world;
  for (const [who, plan] of [[host, "enterprise"], [guest, "starter"]] as const) {
    const account = await world.call("GET", "/api/account/info", { as: who.token });
    eq(account.body.organization.plan, plan);
    const { body: { subscriptions } } = await get(world, who, "subscriptions");
    const own = subscriptions.filter(({ account_id }: { account_id: string }) =>
      account_id === who.org
    );
    deq(own.map(({ plan_id }: { plan_id: string }) => plan_id), [plan]);
  }
  deq([await limitNow(world, host), await limitNow(world, guest)], [2_147_483_647, 100]);
});

Deno.test("plans: the configuration may name a plan like a property of every object", async () => {
  const plans = Object.fromEntries(
    ["constructor", "toString", "__proto__"].map((name) => [name, { requests_per_minute: 7 }]),
  );
  await using world = await World.open({ config: { plans, default_plan: "constructor" } });
  const host = await world.signUp();
  await world.signUp();
  const { body } = await world.call("GET", "/api/admin/plans", { as: host.token });
  const found = body.plans.find(({ id }: { id: string }) => id === "constructor");
  deq([found.name, found.requests_per_minute, found.accounts], ["constructor", 7, 1]);
});

Deno.test("plans: a plan in use cannot be deleted, and a deleted plan cannot be assigned", async () => {
  const { world, host, guest } = await two();
  await using _ = world;
  const change = (plan_id: string) =>
    world.call("PUT", `/api/admin/accounts/${guest.org}/plan`, {
      as: host.token,
      body: { plan_id },
    });
  const remove = (id: string) => world.call("DELETE", `/api/admin/plans/${id}`, { as: host.token });
  eq((await change("team")).status, 200);
  const used = await remove("team");
  deq([used.status, used.body.error.details.accounts], [409, 1]);
  eq((await change("business")).status, 200);
  eq((await remove("team")).status, 204);
  eq((await remove("team")).status, 404);
  eq((await change("team")).status, 400);
  // The default plan stays: the next signup needs it.
  eq((await change("enterprise")).status, 200);
  eq((await remove("starter")).status, 409);
});

Deno.test("plans: of a concurrent deletion and subscription exactly one succeeds", async () => {
  const engine = await Deno.openKv(":memory:");
  let read = () => Promise.resolve();
  const getMany = async (...args: Parameters<Deno.Kv["getMany"]>) => {
    const entries = await engine.getMany(...args);
    await read();
    return entries;
  };
  const kv = overKv(engine, { getMany: getMany as Deno.Kv["getMany"] });
  const { world, host, guest } = await two(
    { plans: { starter: { requests_per_minute: null } } },
    kv,
  );
  await using _ = world;
  const path = `/api/admin/accounts/${guest.org}/plan`;
  const change = (plan_id: string) =>
    world.call("PUT", path, { as: host.token, body: { plan_id } });
  const remove = (id: string) => world.call("DELETE", `/api/admin/plans/${id}`, { as: host.token });
  const outcomes = new Set<string>();
  for (const changesFirst of [true, false]) {
    // All of the second comes between a read of the first and what follows it, read by read.
    for (let place = 0, between = true; between; place++) {
      const body = { name: `Plan ${changesFirst} ${place}`, price: 1, features: [] };
      const { id } = (await world.call("POST", "/api/admin/plans", { as: host.token, body })).body;
      const [first, second] = changesFirst ? [change, remove] : [remove, change];
      let left = place, answer: Promise<Answer> | null = null;
      read = async () => {
        if (left-- === 0) await (answer = second(id));
      };
      const answers = [await first(id)];
      read = () => Promise.resolve();
      between = answer !== null;
      answers.push(await (answer ?? second(id)));
      const [changed, removed] = changesFirst ? answers : answers.reverse();
      const outcome = `${changed!.status} ${removed!.status}`;
      ok(["200 409", "400 204"].includes(outcome), `${changesFirst} ${place}: ${outcome}`);
      outcomes.add(`${changesFirst} ${outcome}`);
      await change("enterprise");
      if (outcome === "200 409") eq((await remove(id)).status, 204);
    }
  }
  deq(outcomes.size, 4);
});

Deno.test("plans: bad input is refused with the path of the fault, and nothing is stored", async () => {
  const { world, host } = await two();
  await using _ = world;
  const good = { name: "Solo", price: 5, features: ["one person"] };
  const before = (await get(world, host, "plans")).text;
  const bad: [string, Record<string, unknown>][] = [
    ["body.price", { price: -1 }],
    ["body.price", { price: 0.001 }],
    ["body.price", { price: 1_000_001 }],
    ["body.name", { name: "" }],
    ["body.features", { features: Array(33).fill("x") }],
    ["body.features.0", { features: ["x".repeat(101)] }],
    ["body.currency", { currency: "usd" }],
    ["body.requests_per_minute", { requests_per_minute: 0 }],
  ];
  for (const [path, part] of bad) {
    const made = { as: host.token, body: { ...good, ...part } };
    for (
      const answer of [
        await world.call("POST", "/api/admin/plans", made),
        await world.call("PUT", "/api/admin/plans/starter", { as: host.token, body: part }),
      ]
    ) deq([answer.status, answer.body.error.details.issues[0].path], [400, path]);
  }
  const taken = { ...good, name: "sTarter" };
  const twice = await world.call("POST", "/api/admin/plans", { as: host.token, body: taken });
  eq(twice.status, 409);
  eq((await get(world, host, "plans")).text, before);
  const made = await world.call("POST", "/api/admin/plans", { as: host.token, body: good });
  deq([made.status, made.body.requests_per_minute, made.body.currency], [201, 100, "USD"]);
});

Deno.test("accounts: switching off ends sessions, keys and streams at once; switching on restores unexpired ones", async () => {
  const { world, host, guest } = await two();
  await using _ = world;
  const key = await world.key(guest, ["agents:read"]);
  const stream = await world.raw("GET", "/api/events", { as: guest.token });
  const ended = stream.text();
  const toggle = (id: string, active: boolean) =>
    world.call("POST", `/api/admin/accounts/${id}/toggle`, { as: host.token, body: { active } });
  const tries = async () => {
    const answers = await Promise.all(
      [guest.token, key.value].map((as) => world.call("GET", "/api/v1/agents", { as })),
    );
    return answers.map(({ status, body }) => body.error?.details.reason ?? status);
  };
  deq(await tries(), [200, 200]);
  eq((await toggle(guest.org, false)).body.active, false);
  deq(await tries(), ["inactive", "inactive"]);
  await world.advance(1000);
  ok((await ended).includes("credential_ended"));
  const off = await world.call("GET", "/api/admin/accounts?active=false", { as: host.token });
  deq(off.body.accounts.map(({ id }: { id: string }) => id), [guest.org]);
  eq((await toggle(guest.org, true)).body.active, true);
  deq(await tries(), [200, 200]);
  eq((await toggle(host.org, false)).status, 409);
  eq((await toggle("org_missing", false)).status, 404);
});

Deno.test("accounts: while off, nothing is sent to webhooks; due deliveries, tests included, are sent when on again", async () => {
  const { world, host, guest } = await two();
  await using _ = world;
  answering(world, 500);
  const hook = await hear(world, guest);
  await happen(world, guest);
  const test = await world.call("POST", `${HOOKS}/${hook.id}/test`, { as: guest.token });
  eq(test.status, 202, test.text);
  await world.settle();
  eq(world.network.sent.length, 2);
  const toggle = (active: boolean) =>
    world.call("POST", `/api/admin/accounts/${guest.org}/toggle`, {
      as: host.token,
      body: { active },
    });
  eq((await toggle(false)).status, 200);
  await happen(world, guest, "meanwhile");
  await world.advance(50 * MINUTE_MS);
  eq(world.network.sent.length, 2);
  answering(world, 204);
  eq((await toggle(true)).status, 200);
  await world.settle();
  const types = world.network.sent.slice(2).map(({ headers }) => headers["X-Service-Event"]);
  deq(types.sort(), ["agent_disconnected", "ping"]);
  const { deliveries } = await deliveriesOf(world, guest, hook.id);
  deq(deliveries.map((d: Record<string, unknown>) => [d["status"], d["attempt"]]), [
    ["succeeded", 2],
    ["succeeded", 2],
  ]);
});

Deno.test("accounts: ingest tokens of an account that is off accept nothing", async () => {
  const { world, host, guest } = await two();
  await using _ = world;
  const made = await world.call("POST", "/api/v1/ingest-tokens", {
    as: guest.token,
    body: { name: "alerts", purpose: "alertmanager" },
  });
  const path = `/api/admin/accounts/${guest.org}/toggle`;
  const toggle = (active: boolean) =>
    world.call("POST", path, { as: host.token, body: { active } });
  const alert = {
    status: "firing",
    labels: { alertname: "down" },
    startsAt: "2026-01-31T12:00:00Z",
  };
  const send = () =>
    world.call("POST", "/api/webhooks/alertmanager", {
      headers: { "x-ingest-token": made.body.token },
      body: { version: "4", status: "firing", alerts: [alert] },
    });
  const alerts = async () => {
    const answer = await world.call("GET", "/api/shield/alerts", { as: guest.token });
    return answer.body.pagination.total;
  };
  await toggle(false);
  const refused = await send();
  await toggle(true);
  eq(await alerts(), 0);
  const taken = await send();
  deq([taken.status, taken.text], [refused.status, refused.text], "the answer does not tell");
  eq(await alerts(), 1);
});

Deno.test("plans: the built-in plans exist after a first start that was interrupted anywhere", async () => {
  for (let commits = 0;; commits++) {
    const engine = await Deno.openKv(":memory:");
    let left = commits;
    const kv = committing(shared(engine), (commit) => {
      if (left-- <= 0) throw new Error("this process is dead");
      return commit();
    });
    await World.open({ kv, config: {} }).catch(() => {});
    await using world = await World.open({ kv: engine, config: {}, seed: 2 });
    const { items } = await world.app.store.list(plans, SYSTEM, { limit: 9 });
    const ids = items.map(({ id }) => id);
    deq(ids, ["business", "enterprise", "starter", "team"], `${commits} commits`);
    if (left >= 0) break;
  }
});

Deno.test("plans: a plan that the host deleted does not return at the next start", async () => {
  const engine = await Deno.openKv(":memory:");
  {
    await using world = await World.open({ kv: overKv(engine, { close: () => {} }), config: {} });
    const host = await world.signUp();
    eq((await world.call("DELETE", "/api/admin/plans/team", { as: host.token })).status, 204);
  }
  await using world = await World.open({ kv: engine, config: {}, seed: 2 });
  eq(await world.app.store.get(plans, SYSTEM, "team"), null);
  ok(await world.app.store.get(plans, SYSTEM, "starter") !== null);
});

Deno.test("accounts: a request that begins after the response to switching off is always refused", async () => {
  for (let round = 0; round < 10; round++) {
    const { world, host, guest } = await two();
    await using _ = world;
    const key = await world.key(guest, ["agents:read"]);
    const before = Array.from(
      { length: 20 },
      () => world.call("GET", "/api/v1/agents", { as: key.value }),
    );
    const path = `/api/admin/accounts/${guest.org}/toggle`;
    await world.call("POST", path, { as: host.token, body: { active: false } });
    const after = await Promise.all(
      [key.value, guest.token].map((as) => world.call("GET", "/api/v1/agents", { as })),
    );
    deq(after.map(({ status }) => status), [401, 401]);
    await Promise.all(before);
  }
});

Deno.test("admin: other organizations read only their own part and write nothing; in the host only an owner writes", async () => {
  const { world, host, guest } = await two();
  await using _ = world;
  const third = await world.signUp();
  for (const what of ["accounts", "plans", "subscriptions", "orders"]) {
    const { status, text } = await get(world, guest, what);
    eq(status, 200);
    for (const { org } of [host, third]) ok(!text.includes(org), `${what} shows ${org}`);
  }
  const all = await get(world, host, "accounts");
  deq(
    all.body.accounts.map(({ id }: { id: string }) => id),
    [host.org, guest.org, third.org],
  );
  const page = await get(world, host, "accounts?limit=1&offset=1");
  deq([page.body.accounts[0].id, page.body.pagination], [guest.org, {
    total: 3,
    limit: 1,
    offset: 1,
    has_more: true,
  }]);
  const admin = await world.join(host, ["admin"]);
  for (const { token } of [guest, admin]) {
    const path = `/api/admin/accounts/${third.org}/toggle`;
    const answer = await world.call("POST", path, { as: token, body: { active: false } });
    eq(answer.status, 403);
  }
  eq((await get(world, third, "accounts")).body.accounts[0].active, true);
});
