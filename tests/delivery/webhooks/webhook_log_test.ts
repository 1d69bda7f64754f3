import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { EVENT_TYPES, WEBHOOK_EVENTS } from "../../../core/events/types/webhook_events.ts";
import { dropExpired } from "../../../core/delivery/webhooks/retention.ts";
import { readLedger } from "../../../core/delivery/webhooks/ledger.ts";
import { overKv } from "../../support/kv.ts";
import { type Account, World } from "../../support/world.ts";
import { deliveriesOf, eventsOf, makeHook } from "../../support/linked_agent.ts";
import { act, answering, happen, hear, HOOKS, namesSent, newest } from "./hook_fixtures.ts";
import { FIRST_RETRY_MS } from "../../support/ladder.ts";
import { rawRows } from "../../support/raw_rows.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

async function signIn(world: World, { email }: Account): Promise<string> {
  const body = { email, password: "password 1" };
  return (await world.call("POST", "/api/v1/login", { body })).body.token;
}

/** How many rows of these collections there are, index entries included. */
async function rowsOf(world: World, name: string): Promise<number> {
  let rows = 0;
  for (const { kind } of await rawRows(world.kv)) {
    if (kind.startsWith(name)) rows++;
  }
  return rows;
}

Deno.test("webhooks.deliveries: filters by status, type, time and held, with exact totals", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { retry_policy: { auto_disable: false, max_retries: 1 } });
  await happen(world, owner, "good");
  await world.advance(1_000);
  answering(world, 500);
  await happen(world, owner, "bad");
  await act(world, owner, hook.id, "test");
  await world.advance(1_000);
  await act(world, owner, hook.id, "disable");
  for (const name of ["a", "b", "c"]) await happen(world, owner, name);
  await world.settle();
  const at = (seconds: number) => `2030-01-01T00:00:0${seconds}.000Z`;
  const cases: [string, number][] = [
    ["", 6],
    ["?status=succeeded", 1],
    ["?status=failed", 2],
    ["?status=pending", 3],
    ["?status=timed_out", 0],
    ["?held=true", 3],
    ["?held=false", 3],
    ["?event_type=ping", 1],
    ["?event_type=agent_disconnected&status=failed", 1],
    [`?since=${at(1)}`, 5],
    [`?until=${at(1)}`, 1],
    [`?since=${at(1)}&until=${at(2)}`, 2],
    [`?since=${at(2)}&held=false`, 0],
    [`?since=${at(2)}&until=${at(1)}`, 0],
  ];
  for (const [query, total] of cases) {
    const { pagination, deliveries } = await deliveriesOf(world, owner, hook.id, query);
    deq([query, pagination.total, deliveries.length], [query, total, total]);
  }
  const page = await deliveriesOf(world, owner, hook.id, "?held=true&limit=2&offset=1");
  deq(page.pagination, { total: 3, limit: 2, offset: 1, has_more: false });
  eq(page.deliveries.length, 2);
  const path = `${HOOKS}/${hook.id}/deliveries`;
  for (const query of ["?status=held", "?event_type=nothing", "?held=1", "?since=today"]) {
    eq((await world.call("GET", path + query, { as: owner.token })).status, 400, query);
  }
});

Deno.test("webhooks.resend: gives all attempts of the policy again, and refuses a delivery under way or a disabled webhook", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { retry_policy: { max_retries: 2, auto_disable: false } });
  answering(world, 500);
  await happen(world, owner);
  await world.advance(2 * FIRST_RETRY_MS);
  const { id } = await newest(world, owner, hook.id);
  const resend = () =>
    world.call("POST", `${HOOKS}/${hook.id}/deliveries/${id}/resend`, { as: owner.token });
  eq((await resend()).status, 202);
  eq((await resend()).status, 409);
  await world.advance(FIRST_RETRY_MS - 1);
  eq((await newest(world, owner, hook.id)).attempt, 3);
  await world.advance(1);
  const last = await newest(world, owner, hook.id);
  deq([last.attempt, last.final], [4, true]);
  await act(world, owner, hook.id, "disable");
  const since = new Date(0).toISOString();
  for (const path of [`deliveries/${id}/resend`, "recover", "test"]) {
    const { status, body } = await world.call("POST", `${HOOKS}/${hook.id}/${path}`, {
      as: owner.token,
      body: path === "recover" ? { since } : {},
    });
    deq([status, body.error.code], [409, "CONFLICT"], path);
    ok(body.error.message.includes(`POST /api/v1/webhooks/${hook.id}/enable`), path);
  }
});

Deno.test("webhooks.test: a test that is due while the webhook is disabled is held, and sent once it is enabled", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  answering(world, 500);
  await act(world, owner, hook.id, "test");
  const { id } = await newest(world, owner, hook.id);
  await act(world, owner, hook.id, "disable");
  answering(world, 204);
  await world.advance(60_000);
  const held = await newest(world, owner, hook.id);
  deq([held.id, held.status, held.held, world.network.sent.length], [id, "pending", true, 1]);
  await act(world, owner, hook.id, "enable");
  await world.settle();
  const sent = await newest(world, owner, hook.id);
  deq([sent.id, sent.status, world.network.sent.length], [id, "succeeded", 2]);
});

Deno.test("webhooks.recover: resends failed deliveries of a time range; a dry run only counts", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { retry_policy: { max_retries: 1, auto_disable: false } });
  const iso = () => new Date(world.clock.now()).toISOString();
  await happen(world, owner, "good");
  await world.settle();
  answering(world, 500);
  await happen(world, owner, "before");
  await world.advance(1_000);
  const since = iso();
  for (let n = 0; n < 30; n++) await happen(world, owner, `${n}`);
  await act(world, owner, hook.id, "test");
  await world.advance(1_000);
  const until = iso();
  await happen(world, owner, "after");
  await world.settle();
  const body = { since, until, status: ["exhausted"] };
  const path = `${HOOKS}/${hook.id}/recover`;
  const counted = await world.call("POST", path, {
    as: owner.token,
    body: { ...body, dry_run: true },
  });
  deq([counted.status, counted.body], [200, { matched: 30, recovery: null }]);
  answering(world, 204);
  world.network.sent.length = 0;
  await world.advance(1_000);
  deq(world.network.sent, []);
  const begun = await world.call("POST", path, { as: owner.token, body });
  deq([begun.status, begun.body.recovery.state], [202, "running"]);
  await world.settle();
  deq(namesSent(world), Array.from({ length: 30 }, (_, n) => `${n}`));
  const job = await world.call("GET", `${HOOKS}/${hook.id}/recoveries/${begun.body.recovery.id}`, {
    as: owner.token,
  });
  deq([job.body.state, job.body.requeued], ["completed", 30]);
  const { event_type, details } = (await eventsOf(world, owner, hook.id)).at(-1)!;
  deq([event_type, details], ["webhook_recovery_started", {
    recovery_id: begun.body.recovery.id,
    since,
    until,
    status: ["exhausted"],
  }]);
  await act(world, owner, hook.id, "disable");
  eq((await world.call("POST", path, { as: owner.token, body })).status, 409);
});

Deno.test("webhooks.recover: a time that has not begun holds nothing, and the recovery ends", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  const path = `${HOOKS}/${hook.id}/recover`;
  const since = new Date(world.clock.now() + DAY_MS).toISOString();
  const ask = (body: object) => world.call("POST", path, { as: owner.token, body });
  deq((await ask({ since, dry_run: true })).body, { matched: 0, recovery: null });
  const begun = await ask({ since });
  eq(begun.status, 202);
  await world.settle();
  const job = `${HOOKS}/${hook.id}/recoveries/${begun.body.recovery.id}`;
  eq((await world.call("GET", job, { as: owner.token })).body.state, "completed");
  deq(world.logged.filter(({ level }) => level === "error"), []);
});

Deno.test("webhooks.cancel_recovery: stops a recovery, and the rest can be recovered again", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { active: false });
  for (let n = 0; n < 60; n++) await happen(world, owner, `${n}`);
  await world.settle();
  const on = await act(world, owner, hook.id, "enable");
  const job = await act(world, owner, `${hook.id}/recoveries/${on.release_id}`, "cancel");
  eq(job.state, "cancelled");
  await world.settle();
  ok(world.network.sent.length < 60);
  // Cancelling twice changes nothing.
  eq((await act(world, owner, `${hook.id}/recoveries/${job.id}`, "cancel")).state, "cancelled");
  await act(world, owner, hook.id, "recover", { since: "2030-01-01T00:00:00.000Z" });
  await world.settle();
  eq(new Set(namesSent(world)).size, 60);
});

Deno.test("webhooks.event_types: all 17, each with a schema that its example satisfies", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const { body } = await world.call("GET", `${HOOKS}/event-types`, { as: token });
  deq(body.event_types.map(({ name }: { name: string }) => name), EVENT_TYPES);
  for (const { name, category, description, scope, schema, example } of body.event_types) {
    const row = WEBHOOK_EVENTS[name as keyof typeof WEBHOOK_EVENTS];
    deq([category, description, scope], [row.category, row.meaning, row.scope]);
    eq(schema.type, "object");
    deq(Object.keys(example).filter((field) => !(field in schema.properties)), []);
    deq(schema.required.filter((field: string) => !(field in example)), []);
    ok(row.payload.safeParse(example).success);
  }
});

Deno.test("retention: removes a delivery with its index entries and attempts after 30 days, not before", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  answering(world, 500);
  await happen(world, owner, "failed once");
  await world.settle();
  answering(world, 204);
  for (let n = 0; n < 40; n++) await happen(world, owner, `${n}`);
  await world.advance(FIRST_RETRY_MS);
  await act(world, owner, hook.id, "disable");
  await happen(world, owner, "held");
  await world.settle();
  eq(await rowsOf(world, "delivery_attempts"), 1);
  world.clock.nowMs += 30 * DAY_MS - FIRST_RETRY_MS - 1;
  const token = await signIn(world, owner);
  eq(await dropExpired(world.app), 0);
  eq((await deliveriesOf(world, { ...owner, token }, hook.id)).pagination.total, 42);
  world.clock.nowMs += 1;
  eq((await deliveriesOf(world, { ...owner, token }, hook.id)).pagination.total, 1);
  eq(await dropExpired(world.app), 41);
  deq([await rowsOf(world, "delivery_attempts"), await rowsOf(world, "deliveries")], [0, 4]);
  world.clock.nowMs += FIRST_RETRY_MS;
  await world.running.housekeep();
  eq(await rowsOf(world, "deliveries"), 0);
  const { accepted, delivered, held, expired } = await readLedger(world.app.store);
  deq([accepted, delivered, held, expired], [42, 41, 0, 1]);
});

Deno.test("retention: checks unexpired deliveries without a read for each", async () => {
  const engine = await Deno.openKv(":memory:");
  let reads = 0;
  const kv = overKv(engine, {
    get: ((key: Deno.KvKey) => {
      reads++;
      return engine.get(key);
    }) as Deno.Kv["get"],
  });
  await using world = await World.open({ kv });
  const owner = await world.signUp();
  await hear(world, owner);
  for (let n = 0; n < 40; n++) await happen(world, owner, `${n}`);
  await world.settle();
  reads = 0;
  eq(await dropExpired(world.app), 0);
  eq(reads, 0);
});

Deno.test("webhooks.delete: removes the delivery log, and discards waiting deliveries", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  for (let n = 0; n < 40; n++) await happen(world, owner, `${n}`);
  await world.settle();
  await act(world, owner, hook.id, "disable");
  for (let n = 0; n < 40; n++) await happen(world, owner, `${n}`);
  await world.settle();
  await world.call("DELETE", `${HOOKS}/${hook.id}`, { as: owner.token });
  await world.settle();
  eq(await rowsOf(world, "deliver"), 0);
  const { accepted, delivered, discarded } = await readLedger(world.app.store);
  deq([accepted, delivered, discarded], [80, 40, 40]);
});

Deno.test("webhooks.recover: four run at once, and further ones are refused", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, ["agent_created"]);
  await world.app.deliveries.recoveries.stop(); // so that none ends meanwhile
  const body = { since: "2029-12-31T00:00:00.000Z" };
  const begin = () => world.call("POST", `${HOOKS}/${hook.id}/recover`, { as: owner.token, body });
  const answers = await Promise.all(Array.from({ length: 9 }, begin));
  const statuses = answers.map(({ status }) => status).sort();
  deq(statuses, [202, 202, 202, 202, 409, 409, 409, 409, 409]);
});
