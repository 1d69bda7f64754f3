import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import type { Tenant } from "../../kv/store/collection.ts";
import {
  CONCURRENCY,
  type Lane,
  Lanes,
  ORGANIZATION_MAX,
  WIDTH_FREE_MAX,
} from "../../core/webhooks/scheduler/scheduler.ts";
import { random } from "../support/random.ts";

const TENANT: Tenant = { org: "org", space: "live" };
const BATCH = 16;

Deno.test("Lanes: a webhook begins with 4, doubles with each answer up to 16 or what is free, and halves with each silence down to 1", () => {
  const lanes = new Lanes();
  const widths: number[] = [];
  const round = (answered: boolean | null) => {
    lanes.announce(TENANT, "w", 0, 0);
    const turn = lanes.next(0, 100)!;
    widths.push(turn.room);
    lanes.begun(turn.lane, turn.room, 1, 1, 0);
    lanes.ended(turn.lane, answered, 0);
  };
  for (const answered of [null, true, true, true, false, false, false, false, false, true]) {
    round(answered);
  }
  deq(widths, [4, 4, 8, 64, 64, 8, 4, 2, 1, 1]);
  eq(lanes.running, 0);
});

Deno.test("Lanes: a webhook that answered has its width again after a pause, and one that was silent begins with 4", () => {
  for (
    const [answers, width] of [[[true, true], 64], [[true], 8], [[true, true, false], 4]] as const
  ) {
    const lanes = new Lanes();
    for (const answered of answers) {
      lanes.announce(TENANT, "w", 0, 0);
      const { lane, room } = lanes.next(0, 100)!;
      lanes.begun(lane, room, 1, Infinity, 0);
      lanes.ended(lane, answered, 0);
    }
    lanes.announce(TENANT, "w", 0, 0);
    eq(lanes.next(0, 100)!.room, width, answers.join());
  }
});

Deno.test("Lanes: a webhook whose rate was used up by a clock far ahead sends again once that is set right", () => {
  const lanes = new Lanes();
  const aheadMs = 365 * 24 * 60 * 60 * 1000;
  lanes.announce(TENANT, "w", 0, aheadMs);
  const { lane, room } = lanes.next(aheadMs, 100)!;
  lane.notBeforeMs = aheadMs + 60_000;
  lanes.begun(lane, room, 0, 0, aheadMs);
  eq(lanes.next(aheadMs, 100), null);
  lanes.announce(TENANT, "w", 0, 1_000);
  eq(lanes.next(1_000, 100)?.lane, lane);
});

Deno.test("Lanes: a dead webhook's backlog costs the others no turn and no look", () => {
  const lanes = new Lanes();
  lanes.announce(TENANT, "dead", 0, 0);
  const dead = lanes.next(0, BATCH)!;
  // Ten thousand more are due: it is full, so it has no turn until one of its attempts ends.
  lanes.begun(dead.lane, dead.room, dead.room, 0, 0);
  for (let n = 0; n < 1_000; n++) lanes.announce(TENANT, `w${n}`, 0, 0);
  const served = new Set<string>();
  for (let n = 0; n < 1_000; n++) {
    const { lane, room } = lanes.next(0, BATCH)!;
    served.add(lane.webhookId);
    lanes.begun(lane, room, 1, Infinity, 0);
    lanes.ended(lane, true, 0);
  }
  eq(served.size, 1_000);
  ok(!served.has("dead"));
  eq(lanes.next(0, BATCH), null);
  lanes.ended(dead.lane, false, 0);
  eq(lanes.next(0, BATCH), null, "it has 3 under way and may have 2");
});

Deno.test("Lanes: webhooks without an answer share half of the house", () => {
  const lanes = new Lanes();
  let running = 0;
  for (let n = 0; n < 1_000; n++) lanes.announce(TENANT, `w${n}`, 0, 0);
  const silent = new Set<Lane>();
  while (silent.size < 1_000) {
    const { lane, room } = lanes.next(0, BATCH)!;
    silent.add(lane);
    lanes.begun(lane, room, 1, 0, 0);
    lanes.ended(lane, false, 0);
  }
  for (let turn = lanes.next(0, BATCH); turn !== null; turn = lanes.next(0, BATCH)) {
    lanes.begun(turn.lane, turn.room, turn.room, 0, 0);
    running += turn.room;
  }
  eq(running, CONCURRENCY / 2);
  lanes.announce(TENANT, "healthy", 0, 0);
  eq(lanes.next(0, BATCH)?.lane.webhookId, "healthy");
});

/** Begins whatever may begin, for webhooks that have no end of deliveries; tells for whom. */
function begin(lanes: Lanes): Lane[] {
  const begun: Lane[] = [];
  for (let turn = lanes.next(0, BATCH); turn !== null; turn = lanes.next(0, BATCH)) {
    lanes.begun(turn.lane, turn.room, turn.room, 0, 0);
    for (let n = 0; n < turn.room; n++) begun.push(turn.lane);
  }
  return begun;
}

Deno.test("Lanes: however many webhooks an organization has, another's begins at once, and then they take turns", () => {
  const of = (org: string): Tenant => ({ org, space: "live" });
  const lanes = new Lanes();
  for (let n = 0; n < 1_000; n++) lanes.announce(of("large"), `w${n}`, 0, 0);
  const under = begin(lanes);
  eq(under.length, ORGANIZATION_MAX);
  for (let n = 0; n < 1_000; n++) lanes.announce(of("second"), `v${n}`, 0, 0);
  under.push(...begin(lanes));
  eq(under.length, CONCURRENCY);
  for (let n = 0; n < 3; n++) lanes.announce(of("small"), `u${n}`, 0, 0);
  // They all answer, slowly: each end makes room for one.
  const served: string[] = [];
  for (const lane of under.slice(0, 9)) {
    lanes.ended(lane, true, 0);
    served.push(...begin(lanes).map(({ tenant }) => tenant.org));
  }
  eq(served.filter((org) => org === "small").length, 3, served.join());
});

Deno.test("Lanes.reserve: a webhook begins with 4, and one whose last attempt got no answer with none", () => {
  const lanes = new Lanes();
  const taken = Array.from({ length: 6 }, () => lanes.reserve(TENANT, "w", 0));
  deq(taken.map((lane) => lane !== null), [true, true, true, true, false, false]);
  eq(lanes.running, 4);
  lanes.ended(taken[0]!, false, 0);
  lanes.ended(taken[1]!, null, 0);
  eq(lanes.reserve(TENANT, "w", 0), null);
  lanes.ended(taken[2]!, true, 0);
  eq(lanes.reserve(TENANT, "w", 0), taken[0]);
});

const ORGS = ["org_a", "org_b"];

Deno.test("Lanes: whatever happens, no bound is passed, and what is due has its turn", () => {
  let most = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const dice = random(seed);
    const lanes = new Lanes();
    /** What is due, by webhook, as a store would know it. */
    const due = new Map<string, number[]>();
    const under: Lane[] = [];
    let now = 0;
    const say = (what: string) => `seed ${seed} at ${now}: ${what}`;
    const mustLeaveRoom = () => {
      for (const org of ORGS) {
        const own = under.filter(({ tenant }) => tenant.org === org).length;
        ok(own <= ORGANIZATION_MAX, say("too many of one organization"));
        most = Math.max(most, own);
      }
    };
    const serve = () => {
      for (let turn = lanes.next(now, BATCH); turn !== null; turn = lanes.next(now, BATCH)) {
        const { lane, room } = turn;
        const waiting = due.get(lane.webhookId)!.sort((a, b) => a - b);
        const ready = waiting.filter((ms) => ms <= now).length;
        const taken = waiting.splice(0, Math.min(room, ready)).length;
        lanes.begun(lane, room, taken, waiting[0] ?? Infinity, now);
        for (let n = 0; n < taken; n++) under.push(lane);
        ok(lanes.running <= CONCURRENCY, say("too many"));
        ok(lane.running <= WIDTH_FREE_MAX, say("too many of one"));
      }
      mustLeaveRoom();
      eq(lanes.running, under.length, say("what runs is miscounted"));
    };
    const endOne = () => {
      const [lane] = under.splice(dice.below(under.length), 1);
      lanes.ended(lane!, dice.pick([true, true, false, null]), now);
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
        lanes.announce(tenant, webhook, ms, now);
      } else if (what < 0.65) {
        const lane = lanes.reserve(tenant, webhook, now);
        const first = Math.min(...due.get(webhook) ?? []);
        ok(lane === null || first > now, say("one passed those before it"));
        if (lane !== null) under.push(lane);
        ok(lanes.running <= CONCURRENCY, say("too many"));
        ok((lane?.running ?? 0) <= WIDTH_FREE_MAX, say("too many of one"));
      } else if (what < 0.8 && under.length > 0) endOne();
      else now += dice.below(10);
      serve();
    }
    now += 100;
    // More than one organization may have is due at once.
    for (let n = 0; n < 100; n++) {
      due.set(`x${n}`, [now, now, now, now]);
      lanes.announce({ org: ORGS[0]!, space: "live" }, `x${n}`, now, now);
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
