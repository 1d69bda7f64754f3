import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Receiver } from "../../../core/delivery/webhooks/scheduler/receiver.ts";
import {
  CONCURRENCY,
  DeliveryScheduler,
  LIMIT_IDLE_MAX,
  ORGANIZATION_MAX,
} from "../../../core/delivery/webhooks/scheduler/scheduler.ts";
import { random } from "../../support/random.ts";

const TENANT: Tenant = { org: "org", space: "live" };
const BATCH = 16;

Deno.test("DeliveryScheduler: the limit of a webhook starts at 4, doubles with each answer up to 16 or what is free, and halves without an answer down to 1", () => {
  const scheduler = new DeliveryScheduler();
  const limits: number[] = [];
  const round = (answered: boolean | null) => {
    scheduler.schedule(TENANT, "w", 0, 0);
    const turn = scheduler.next(0, 100)!;
    limits.push(turn.slots);
    scheduler.claimed(turn.receiver, turn.slots, 1, 1, 0);
    scheduler.ended(turn.receiver, answered, 0);
  };
  for (const answered of [null, true, true, true, false, false, false, false, false, true]) {
    round(answered);
  }
  deq(limits, [4, 4, 8, 64, 64, 8, 4, 2, 1, 1]);
  eq(scheduler.running, 0);
});

Deno.test("DeliveryScheduler: a webhook that answered keeps its limit over a pause, and one that did not starts at 4", () => {
  for (
    const [answers, limit] of [[[true, true], 64], [[true], 8], [[true, true, false], 4]] as const
  ) {
    const scheduler = new DeliveryScheduler();
    for (const answered of answers) {
      scheduler.schedule(TENANT, "w", 0, 0);
      const { receiver, slots } = scheduler.next(0, 100)!;
      scheduler.claimed(receiver, slots, 1, Infinity, 0);
      scheduler.ended(receiver, answered, 0);
    }
    scheduler.schedule(TENANT, "w", 0, 0);
    eq(scheduler.next(0, 100)!.slots, limit, answers.join());
  }
});

Deno.test("DeliveryScheduler: a rate limit set while the clock was far ahead ends when the clock jumps back", () => {
  const scheduler = new DeliveryScheduler();
  const aheadMs = 365 * 24 * 60 * 60 * 1000;
  scheduler.schedule(TENANT, "w", 0, aheadMs);
  const { receiver, slots } = scheduler.next(aheadMs, 100)!;
  receiver.notBeforeMs = aheadMs + 60_000;
  scheduler.claimed(receiver, slots, 0, 0, aheadMs);
  eq(scheduler.next(aheadMs, 100), null);
  scheduler.schedule(TENANT, "w", 0, 1_000);
  eq(scheduler.next(1_000, 100)?.receiver, receiver);
});

Deno.test("DeliveryScheduler: the backlog of a dead webhook costs the others neither a turn nor a scan", () => {
  const scheduler = new DeliveryScheduler();
  scheduler.schedule(TENANT, "dead", 0, 0);
  const dead = scheduler.next(0, BATCH)!;
  // More are due, but it is at its limit, so it has no turn until one of its attempts ends.
  scheduler.claimed(dead.receiver, dead.slots, dead.slots, 0, 0);
  for (let n = 0; n < 1_000; n++) scheduler.schedule(TENANT, `w${n}`, 0, 0);
  const served = new Set<string>();
  for (let n = 0; n < 1_000; n++) {
    const { receiver, slots } = scheduler.next(0, BATCH)!;
    served.add(receiver.webhookId);
    scheduler.claimed(receiver, slots, 1, Infinity, 0);
    scheduler.ended(receiver, true, 0);
  }
  eq(served.size, 1_000);
  ok(!served.has("dead"));
  eq(scheduler.next(0, BATCH), null);
  scheduler.ended(dead.receiver, false, 0);
  eq(scheduler.next(0, BATCH), null, "it has 3 under way and may have 2");
});

Deno.test("DeliveryScheduler: webhooks that do not answer share half of all slots", () => {
  const scheduler = new DeliveryScheduler();
  let running = 0;
  for (let n = 0; n < 1_000; n++) scheduler.schedule(TENANT, `w${n}`, 0, 0);
  const silent = new Set<Receiver>();
  while (silent.size < 1_000) {
    const { receiver, slots } = scheduler.next(0, BATCH)!;
    silent.add(receiver);
    scheduler.claimed(receiver, slots, 1, 0, 0);
    scheduler.ended(receiver, false, 0);
  }
  for (let turn = scheduler.next(0, BATCH); turn !== null; turn = scheduler.next(0, BATCH)) {
    scheduler.claimed(turn.receiver, turn.slots, turn.slots, 0, 0);
    running += turn.slots;
  }
  eq(running, CONCURRENCY / 2);
  scheduler.schedule(TENANT, "healthy", 0, 0);
  eq(scheduler.next(0, BATCH)?.receiver.webhookId, "healthy");
});

/** Starts whatever may start, for webhooks with endless deliveries; answers for whom. */
function begin(scheduler: DeliveryScheduler): Receiver[] {
  const begun: Receiver[] = [];
  for (let turn = scheduler.next(0, BATCH); turn !== null; turn = scheduler.next(0, BATCH)) {
    scheduler.claimed(turn.receiver, turn.slots, turn.slots, 0, 0);
    for (let n = 0; n < turn.slots; n++) begun.push(turn.receiver);
  }
  return begun;
}

Deno.test("DeliveryScheduler: another organization's webhook starts at once, however many webhooks the first has, and then they take turns", () => {
  const of = (org: string): Tenant => ({ org, space: "live" });
  const scheduler = new DeliveryScheduler();
  for (let n = 0; n < 1_000; n++) scheduler.schedule(of("large"), `w${n}`, 0, 0);
  const under = begin(scheduler);
  eq(under.length, ORGANIZATION_MAX);
  for (let n = 0; n < 1_000; n++) scheduler.schedule(of("second"), `v${n}`, 0, 0);
  under.push(...begin(scheduler));
  eq(under.length, CONCURRENCY);
  for (let n = 0; n < 3; n++) scheduler.schedule(of("small"), `u${n}`, 0, 0);
  // They all answer slowly; each ended attempt frees one slot.
  const served: string[] = [];
  for (const receiver of under.slice(0, 9)) {
    scheduler.ended(receiver, true, 0);
    served.push(...begin(scheduler).map(({ tenant }) => tenant.org));
  }
  eq(served.filter((org) => org === "small").length, 3, served.join());
});

Deno.test("DeliveryScheduler.reserve: a webhook starts with 4, and one whose last attempt got no answer with none", () => {
  const scheduler = new DeliveryScheduler();
  const taken = Array.from({ length: 6 }, () => scheduler.reserve(TENANT, "w", 0));
  deq(taken.map((receiver) => receiver !== null), [true, true, true, true, false, false]);
  eq(scheduler.running, 4);
  scheduler.ended(taken[0]!, false, 0);
  scheduler.ended(taken[1]!, null, 0);
  eq(scheduler.reserve(TENANT, "w", 0), null);
  scheduler.ended(taken[2]!, true, 0);
  eq(scheduler.reserve(TENANT, "w", 0), taken[0]);
});

const ORGS = ["org_a", "org_b"];

Deno.test("DeliveryScheduler: random sequences never exceed a limit, and everything due gets its turn", () => {
  let most = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const dice = random(seed);
    const scheduler = new DeliveryScheduler();
    /** The due times by webhook, as a store would hold them. */
    const due = new Map<string, number[]>();
    const under: Receiver[] = [];
    let now = 0;
    const say = (what: string) => `seed ${seed} at ${now}: ${what}`;
    const mustLeaveSlots = () => {
      for (const org of ORGS) {
        const own = under.filter(({ tenant }) => tenant.org === org).length;
        ok(own <= ORGANIZATION_MAX, say("too many of one organization"));
        most = Math.max(most, own);
      }
    };
    const serve = () => {
      for (
        let turn = scheduler.next(now, BATCH);
        turn !== null;
        turn = scheduler.next(now, BATCH)
      ) {
        const { receiver, slots } = turn;
        const waiting = due.get(receiver.webhookId)!.sort((a, b) => a - b);
        const ready = waiting.filter((ms) => ms <= now).length;
        const taken = waiting.splice(0, Math.min(slots, ready)).length;
        scheduler.claimed(receiver, slots, taken, waiting[0] ?? Infinity, now);
        for (let n = 0; n < taken; n++) under.push(receiver);
        ok(scheduler.running <= CONCURRENCY, say("too many"));
        ok(receiver.running <= LIMIT_IDLE_MAX, say("too many of one"));
      }
      mustLeaveSlots();
      eq(scheduler.running, under.length, say("what runs is miscounted"));
    };
    const endOne = () => {
      const [receiver] = under.splice(dice.below(under.length), 1);
      scheduler.ended(receiver!, dice.pick([true, true, false, null]), now);
    };
    for (let step = 0; step < 300; step++) {
      const number = dice.below(dice.pick([2, 100]));
      const webhook = `w${number}`;
      const tenant = { org: ORGS[number % ORGS.length]!, space: "live" } as const;
      const what = dice.unit();
      if (what < 0.5) {
        const ms = now + dice.pick([0, 0, 5, 50]);
        const some = Array<number>(dice.pick([1, 1, 1, 1, 20])).fill(ms);
        due.set(webhook, [...due.get(webhook) ?? [], ...some]);
        scheduler.schedule(tenant, webhook, ms, now);
      } else if (what < 0.65) {
        const receiver = scheduler.reserve(tenant, webhook, now);
        const first = Math.min(...due.get(webhook) ?? []);
        ok(receiver === null || first > now, say("one passed those before it"));
        if (receiver !== null) under.push(receiver);
        ok(scheduler.running <= CONCURRENCY, say("too many"));
        ok((receiver?.running ?? 0) <= LIMIT_IDLE_MAX, say("too many of one"));
      } else if (what < 0.8 && under.length > 0) endOne();
      else now += dice.below(10);
      serve();
    }
    now += 100;
    // More deliveries are due than one organization may have under way.
    for (let n = 0; n < 100; n++) {
      due.set(`x${n}`, [now, now, now, now]);
      scheduler.schedule({ org: ORGS[0]!, space: "live" }, `x${n}`, now, now);
    }
    serve();
    while (under.length > 0) {
      endOne();
      serve();
    }
    deq([...due.values()].flat(), [], say("something was forgotten"));
  }
  eq(most, ORGANIZATION_MAX, "the bound was reached");
});
