import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { setImmediate } from "node:timers";
import { eventJson, RELAY_ACTOR } from "../../../core/events/events.ts";
import { WEBHOOK_EVENTS } from "../../../core/events/types/webhook_events.ts";
import { systemKey } from "../../../kv/store/collection.ts";
import { SEQUENCE_LAZY_MS } from "../../../kv/log/log.ts";
import { webhooks } from "../../../kv/records/webhook.ts";
import { ManualClock } from "../../support/clock.ts";
import { countedKv } from "../../instances/counted_kv.ts";
import { overKv, shared } from "../../support/kv.ts";
import { type Account, World } from "../../support/world.ts";
import { exec, linkAgent, makeHook } from "../../support/linked_agent.ts";
import { liveOf } from "./hook_fixtures.ts";

/** Turns of the event loop in which a starting relay does all its work. */
const TURNS = 200;

/** An event that nothing else in these tests causes, so that a later one does not deliver it too. */
async function policyGoes(world: World, owner: Account): Promise<void> {
  const type = "policy_deleted";
  const resource = { type: "policy", id: "pol_1" } as const;
  const event = { type, resource, details: WEBHOOK_EVENTS[type].example } as const;
  const json = eventJson({ ...world.app, actor: RELAY_ACTOR }, liveOf(owner), event);
  await world.app.store.append(liveOf(owner), type, json);
}

Deno.test("startRelay: what a start reads does not depend on how many webhooks an organization has", async () => {
  const reads: number[] = [];
  for (const hooks of [1, 41]) {
    const engine = await Deno.openKv(":memory:");
    const first = await World.open({ kv: shared(engine) });
    const owner = await first.signUp();
    for (let n = 0; n < hooks; n++) await makeHook(first, owner, ["policy_deleted"]);
    await first[Symbol.asyncDispose]();
    const { kv, calls } = countedKv(engine);
    await using world = await World.open({ kv, seed: 2 });
    await world.settle();
    reads.push(calls.reads);
  }
  eq(reads[1], reads[0]);
});

Deno.test("startRelay: an event that a crash left without a number is sent, even when it gets its number during the start", async () => {
  const kv = await Deno.openKv(":memory:");
  const dead = await World.open({ kv: shared(kv) });
  const here = await linkAgent(dead);
  await makeHook(dead, here.owner, ["policy_deleted"]);
  // The next process records this command as lost, and so writes events of its own.
  here.agent.script = () => "silent";
  exec(dead, here, "make").catch(() => {});
  await dead.settle();
  await policyGoes(dead, here.owner);
  deq(dead.network.sent, []);
  // A clock of its own, so that timers of the dead process never fire.
  const clock = new ManualClock();
  const places = JSON.stringify(systemKey(webhooks, "all", []));
  let slow = true;
  const list: Deno.Kv["list"] = (selector, options) => {
    const found = kv.list(selector, options);
    if (!slow || !("prefix" in selector) || JSON.stringify(selector.prefix) !== places) {
      return found as never;
    }
    slow = false;
    const next = found.next.bind(found);
    found.next = async () => {
      clock.advance(SEQUENCE_LAZY_MS);
      for (let turn = 0; turn < TURNS; turn++) await new Promise((done) => setImmediate(done));
      return await next();
    };
    return found as never;
  };
  await using world = await World.open({ kv: overKv(kv, { list }), seed: 2, clock });
  eq(slow, false);
  // Longer than the time to a sweep, but before the agent counts as lost, which is another event.
  await world.advance(20_000);
  deq(world.network.sent.map(({ body }) => JSON.parse(String(body)).event_type), [
    "policy_deleted",
  ]);
});

Deno.test("startRelay: an event that a crash left without a number is sent at once, not with the next event", async () => {
  const kv = await Deno.openKv(":memory:");
  const dead = await World.open({ kv: shared(kv) });
  const owner = await dead.signUp();
  await makeHook(dead, owner, ["policy_deleted"]);
  await dead.settle();
  await policyGoes(dead, owner);
  await using world = await World.open({ kv, seed: 2 });
  const sent = Promise.withResolvers<void>();
  world.network.reply = () => {
    sent.resolve();
    return 200;
  };
  world.clock.advance(0);
  await sent.promise;
});
