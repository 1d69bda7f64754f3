import { setImmediate } from "node:timers";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { LeasedSlots } from "../../../kv/limits/slots.ts";
import { Store } from "../../../kv/store/store.ts";
import { ManualClock } from "../../support/clock.ts";
import { committing, faultyKv, shared } from "../../support/kv.ts";
import { type QuietKv, quietKv } from "../../support/quiet_kv.ts";
import { type Random, random } from "../../support/random.ts";

const LEASE_MS = 30_000;
const seed = Number(
  Deno.env.get("RELAY_SLOTS_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);
console.log(`slots: RELAY_SLOTS_SEED=${seed}`);

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** One of several processes, which can be cut off from the store as if it were dead. */
interface Instance {
  readonly slots: LeasedSlots;
  readonly store: Store;
  open: number;
  dead: boolean;
}

class SlotsWorld implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly instances: Instance[] = [];
  readonly #engine: QuietKv;
  #underWay = 0;
  failed = 0;

  constructor(
    readonly kv: Deno.Kv,
    readonly dice: Random,
    private readonly share: number,
    private readonly faulty = false,
  ) {
    this.#engine = quietKv(shared(kv));
    for (let n = 0; n < share; n++) this.start();
  }

  static async open(dice: Random, share: number, faulty = false): Promise<SlotsWorld> {
    return new SlotsWorld(await Deno.openKv(":memory:"), dice, share, faulty);
  }

  start(): Instance {
    const kv = committing(this.#engine.kv, (commit) => {
      if (instance.dead) throw new Error("this process is dead");
      return commit();
    });
    const own = this.faulty ? faultyKv(kv, () => this.dice.unit()) : kv;
    const store = new Store(own, { clock: this.clock, sole: this.share === 1, hasQueue: false });
    const name = `ins${this.instances.length}`;
    const slots = new LeasedSlots(store, name, this.share);
    const instance: Instance = { slots, store, open: 0, dead: false };
    this.instances.push(instance);
    return instance;
  }

  get live(): Instance[] {
    return this.instances.filter(({ dead }) => !dead);
  }

  get open(): number {
    return this.live.reduce((sum, { open }) => sum + open, 0);
  }

  /** Takes a slot, and checks the sum over all instances against the limit. */
  enter(instance: Instance, limit: number, answered = (_: boolean) => {}): void {
    const entered = instance.slots.enter("key", limit);
    if (entered !== "unknown") {
      this.#answer(instance, limit, entered === "entered");
      return answered(entered === "entered");
    }
    this.#underWay++;
    instance.slots.enterSlowly("key", limit).then((entered) => {
      this.#answer(instance, limit, entered);
      answered(entered);
    }, () => this.failed++).finally(() => this.#underWay--);
  }

  #answer(instance: Instance, limit: number, entered: boolean): void {
    if (!entered) return;
    instance.open++;
    ok(instance.dead || this.open <= limit, `seed ${this.dice.seed}: ${this.open} of ${limit}`);
  }

  leave(instance: Instance): void {
    if (instance.open === 0) return;
    instance.open--;
    instance.slots.leave("key");
  }

  async settle(): Promise<void> {
    await this.#engine.quiet();
    while (this.#underWay > 0) {
      this.clock.advance(5);
      await this.#engine.quiet();
    }
  }

  async advance(ms: number, stepMs = 1_000): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(stepMs, left));
      await this.#engine.quiet();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.settle();
    for (const { store } of this.instances) await store.close();
    await turn();
    this.kv.close();
  }
}

for (const share of [1, 2, 4]) {
  Deno.test(`LeasedSlots: restarting instances never exceed the limit (${share} at a time)`, async () => {
    for (let round = 0; round < 8; round++) {
      const dice = random(seed + 1000 * share + round);
      await using world = await SlotsWorld.open(dice, share);
      const limit = 1 + dice.below(12);
      for (let step = 0; step < 150; step++) {
        const instance = dice.pick(world.live);
        if (dice.chance(0.55)) world.enter(instance, limit);
        else world.leave(instance);
        if (dice.chance(0.3)) await turn();
        if (dice.chance(0.1)) world.clock.advance(dice.below(100));
        if (dice.chance(0.02)) await world.advance(dice.below(60_000));
      }
      await world.settle();
      ok(world.open <= limit);
      // When all have left, every slot is free and nothing is stored.
      for (const instance of world.live) while (instance.open > 0) world.leave(instance);
      await world.advance(200, 20);
      const rows = await Array.fromAsync(world.kv.list({ prefix: [] }));
      deq(rows.map(({ key }) => key), [], `seed ${dice.seed}`);
      const last = dice.pick(world.live);
      let entered = 0;
      for (let n = 0; n < limit + 3; n++) {
        world.enter(last, limit, (yes) => yes && entered++);
        await world.settle();
      }
      eq(entered, limit, `seed ${dice.seed}`);
      eq(await last.slots.taken("key"), limit);
    }
  });
}

Deno.test("LeasedSlots: a dead instance's slots are freed after its lease, a live one's never", async () => {
  await using world = await SlotsWorld.open(random(seed), 2);
  const [dying, living] = world.instances as [Instance, Instance];
  for (let n = 0; n < 3; n++) world.enter(dying, 5);
  await world.settle();
  for (let n = 0; n < 4; n++) world.enter(living, 5);
  await world.settle();
  deq([dying.open, living.open], [3, 2]);
  await world.advance(10 * LEASE_MS);
  world.enter(living, 5);
  await world.settle();
  eq(living.open, 2, "a live instance lost a slot");
  dying.dead = true;
  await world.advance(LEASE_MS);
  for (let n = 0; n < 5; n++) world.enter(living, 5);
  await world.settle();
  eq(living.open, 5);
});

Deno.test("LeasedSlots: an instance that stops gives its slots back at once, also before its users leave", async () => {
  await using world = await SlotsWorld.open(random(seed), 2);
  const [ending, other] = world.instances as [Instance, Instance];
  for (let n = 0; n < 4; n++) world.enter(ending, 4);
  await world.settle();
  eq(ending.open, 4);
  await ending.slots.close();
  ending.dead = true;
  for (let n = 0; n < 4; n++) ending.slots.leave("key");
  for (let n = 0; n < 4; n++) world.enter(other, 4);
  await world.settle();
  eq(other.open, 4);
});

Deno.test("LeasedSlots: after the clock was set back, slots given back elsewhere are found at once", async () => {
  await using world = await SlotsWorld.open(random(seed), 2);
  const [here, there] = world.instances as [Instance, Instance];
  const answers: boolean[] = [];
  for (const instance of [here, there, here]) {
    world.enter(instance, 2, (entered) => answers.push(entered));
    await world.settle();
  }
  world.clock.nowMs -= 60 * 60 * 1000;
  world.leave(there);
  await world.advance(200, 20);
  world.enter(here, 2, (entered) => answers.push(entered));
  await world.settle();
  deq(answers, [true, true, false, true]);
});

Deno.test("LeasedSlots: after the clock was set back, the slots of a dead instance are free at once", async () => {
  await using world = await SlotsWorld.open(random(seed), 2);
  const [dead, other] = world.instances as [Instance, Instance];
  for (let n = 0; n < 4; n++) world.enter(dead, 4);
  await world.settle();
  eq(dead.open, 4);
  dead.dead = true;
  world.clock.nowMs -= 60 * 60 * 1000;
  for (let n = 0; n < 4; n++) world.enter(other, 4);
  await world.settle();
  eq(other.open, 4);
});

Deno.test("LeasedSlots: a lowered limit applies to the next caller on every instance", async () => {
  await using world = await SlotsWorld.open(random(seed), 3);
  for (const instance of world.instances) {
    world.enter(instance, 12);
    await world.settle();
  }
  eq(world.open, 3);
  for (const instance of world.instances) {
    world.enter(instance, 3);
    await world.settle();
  }
  eq(world.open, 3);
});

Deno.test("LeasedSlots: commits that fail or have an unknown outcome let none too many in", async () => {
  let failed = 0;
  for (let round = 0; round < 8; round++) {
    const dice = random(seed + 9000 + round);
    await using world = await SlotsWorld.open(dice, 3, true);
    const limit = 1 + dice.below(8);
    for (let step = 0; step < 150; step++) {
      const instance = dice.pick(world.live);
      if (dice.chance(0.55)) world.enter(instance, limit);
      else world.leave(instance);
      if (dice.chance(0.3)) await turn();
      if (dice.chance(0.1)) world.clock.advance(dice.below(100));
    }
    await world.settle();
    failed += world.failed;
  }
  ok(failed > 0, "no commit had an unknown outcome");
});
