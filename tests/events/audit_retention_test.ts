import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { dropExpiredRows } from "../../core/events/trail/retention.ts";
import { type Account, World } from "../support/world.ts";
import { ask } from "../host/compliance_fixtures.ts";
import { deliveriesOf, makeHook } from "../support/linked_agent.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const CONFIG = { config: { retention_days: { audit: 30 } } };
const EVENT = "compliance_report_generated";

const live = ({ org }: Account) => ({ org, space: "live" } as const);

/** Large rows, which fill segments. */
async function fill(world: World, { token }: Account, n: number): Promise<void> {
  const body = { event_type: "note", details: { text: "x".repeat(7_000) } };
  for (let at = 0; at < n; at++) await world.call("POST", "/api/audit/event", { as: token, body });
}

/** Advances the clock and signs in again. */
async function wait(world: World, owner: Account, days: number): Promise<Account> {
  world.clock.nowMs += days * DAY_MS;
  const body = { email: owner.email, password: "password 1" };
  const { token } = (await world.call("POST", "/api/v1/login", { body })).body;
  return { ...owner, token };
}

const first = async (world: World, owner: Account) =>
  (await world.app.log.read(live(owner), 0, 1))[0]!.seq;

Deno.test("retention_days.audit: rows stay until webhook fan-out has processed them", async () => {
  await using world = await World.open(CONFIG);
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, [EVENT]);
  await world.settle();
  const { log, store } = world.app;
  const all = store.all.bind(store);
  // Fan-out cannot read the webhooks and retries.
  store.all = () => Promise.reject(new Error("no disk"));
  await ask(world, owner.token, "soc2", "24h");
  await world.settle();
  await fill(world, owner, 40);
  await world.settle();
  const later = await wait(world, owner, 31);
  await dropExpiredRows(world.app);
  const { deliveries: none } = await deliveriesOf(world, later, hook.id);
  deq(none, []);
  const kept = await log.read(live(owner), 0, 100);
  ok(kept.some(({ type }) => type === EVENT), "the event went before its delivery was made");
  store.all = all;
  await world.advance(2_000);
  const { deliveries } = await deliveriesOf(world, later, hook.id);
  deq(deliveries.map(({ event_type }: { event_type: string }) => event_type), [EVENT]);
  await dropExpiredRows(world.app);
  ok(await first(world, owner) > 10);
});

Deno.test("retention_days.audit: a follower continues after removed rows and sees each event once", async () => {
  await using world = await World.open(CONFIG);
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, [EVENT]);
  await fill(world, owner, 40);
  await world.settle();
  const later = await wait(world, owner, 31);
  ok(await dropExpiredRows(world.app) > 0);
  ok(await first(world, later) > 10);
  await ask(world, later.token, "soc2", "24h");
  await world.settle();
  const { pagination } = await deliveriesOf(world, later, hook.id);
  eq(pagination.total, 1);
});

Deno.test("legal_hold: a hold set during a round takes effect at once", async () => {
  await using world = await World.open(CONFIG);
  const owner = await world.signUp();
  await fill(world, owner, 40);
  await world.settle();
  const later = await wait(world, owner, 31);
  const { log } = world.app;
  const oldest = log.oldest.bind(log);
  log.oldest = async (tenant) => {
    const found = await oldest(tenant);
    if (tenant.org === owner.org && found !== null && found.events[0]!.seq > 1) {
      world.app.config().legal_hold.push(owner.org);
    }
    return found;
  };
  const removed = await dropExpiredRows(world.app);
  ok(removed > 0);
  eq(await first(world, later), removed + 1);
  const [segment] = (await oldest(live(owner)))!.events;
  ok(segment!.seq < 30, "more than the first segment went");
});

Deno.test("retention_days.audit: a row stays for its time though later rows have earlier timestamps", async () => {
  await using world = await World.open(CONFIG);
  const owner = await world.signUp();
  await fill(world, owner, 4);
  const setBack = await wait(world, owner, -60);
  await fill(world, setBack, 40);
  await world.settle();
  await wait(world, owner, 60);
  eq(await dropExpiredRows(world.app), 0);
  eq(await first(world, owner), 1);
  await wait(world, owner, 31);
  ok(await dropExpiredRows(world.app) > 30);
});
