import { setImmediate } from "node:timers";
import { ok, strictEqual as eq } from "node:assert/strict";
import {
  type Claim,
  type Claims,
  type Grant,
  LeasedCounters,
} from "../../../kv/limits/counters.ts";
import { Store } from "../../../kv/store/store.ts";
import { ManualClock } from "../../support/clock.ts";
import { faultyKv, shared } from "../../support/kv.ts";
import { type QuietKv, quietKv } from "../../support/quiet_kv.ts";
import type { Random } from "../../support/random.ts";

export const TEN_SECONDS_MS = 10_000;
export const MINUTE_MS = 60_000;

const amountOf = ({ amount = 1 }: Claim): number => amount;

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Options {
  readonly instances: number;
  /** Makes commits fail or lose their reply. */
  readonly faulty?: boolean;
  readonly windowsMax?: number;
}

/** Instances on one store, with an independent count of what they admitted. */
export class CountersWorld implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly all: LeasedCounters[];
  readonly #stores: Store[];
  readonly #admitted = new Map<string, number>();
  readonly #engine: QuietKv;
  readonly #faults: unknown[] = [];
  #underWay = 0;
  /** Callers that got no answer, because a commit's outcome was unknown. */
  failed = 0;

  private constructor(
    readonly kv: Deno.Kv,
    readonly dice: Random,
    readonly options: Options,
  ) {
    const { instances, faulty = false, windowsMax } = options;
    this.#engine = quietKv(shared(kv));
    this.#stores = Array.from({ length: instances }, () => {
      const own = faulty ? faultyKv(this.#engine.kv, () => dice.unit()) : this.#engine.kv;
      return new Store(own, { clock: this.clock, sole: instances === 1, hasQueue: false });
    });
    this.all = this.#stores.map((store) => new LeasedCounters(store, instances, windowsMax));
  }

  static async open(dice: Random, options: Options): Promise<CountersWorld> {
    return new CountersWorld(await Deno.openKv(":memory:"), dice, options);
  }

  get sole(): boolean {
    return this.options.instances === 1;
  }

  /** True for a sole instance, which knows everything. */
  get exact(): boolean {
    return this.sole && !this.options.faulty && this.options.windowsMax === undefined;
  }

  /** How many the current window of a claim has admitted. */
  admitted({ key, windowMs }: Claim): number {
    return this.#admitted.get(this.#windowOf(key, windowMs)) ?? 0;
  }

  #fits(claim: Claim): boolean {
    return this.admitted(claim) + amountOf(claim) <= claim.limit;
  }

  /** One caller, whose answer is checked as soon as it comes. */
  take(at: number, claims: Claims): void {
    const taken = this.all[at]!.takeAll(claims);
    if (!(taken instanceof Promise)) return this.#judge(claims, taken);
    this.#underWay++;
    taken.then((grant) => this.#judge(claims, grant), () => this.failed++)
      .catch((fault) => this.#faults.push(fault))
      .finally(() => this.#underWay--);
  }

  #judge(claims: Claims, grant: Grant): void {
    const { claim, admitted, remaining, resetMs } = grant;
    const where = `seed ${this.dice.seed}: ${JSON.stringify({ claims, grant })}`;
    ok(claims.includes(claim), where);
    eq(resetMs, this.#endOf(claim), where);
    if (admitted) {
      for (const each of claims) {
        const name = this.#windowOf(each.key, each.windowMs);
        this.#admitted.set(name, (this.#admitted.get(name) ?? 0) + amountOf(each));
        ok(this.admitted(each) <= each.limit, `${where} admitted more`);
        const left = each.limit - this.admitted(each);
        if (this.exact) {
          ok(remaining <= left, `${where} is not the tightest`);
        }
      }
    } else if (this.exact) {
      ok(!this.#fits(claim), `${where} refused although enough was left`);
      for (const each of claims) {
        ok(this.#fits(each) || this.#endOf(each) <= resetMs, where);
      }
    }
    const left = Math.max(0, claim.limit - this.admitted(claim));
    // An evicted window does not remember what it took before.
    const promised = this.options.windowsMax === undefined ? remaining : 0;
    ok(remaining >= 0 && promised <= left, `${where} promises more than is left`);
  }

  /** Moves time until every caller has its answer, but never while the engine works. */
  async settle(stepMs = 5): Promise<void> {
    await this.#engine.quiet();
    while (this.#underWay > 0) {
      this.clock.advance(stepMs);
      await this.#engine.quiet();
    }
    for (const fault of this.#faults) throw fault;
  }

  /** Moves time until an answer comes. */
  async moving<T>(answer: Promise<T>): Promise<T> {
    let waiting = true;
    answer.finally(() => waiting = false);
    await this.#engine.quiet();
    while (waiting) {
      this.clock.advance(5);
      await this.#engine.quiet();
    }
    return await answer;
  }

  /** Lets unspent leases be given back. */
  async giveBack(): Promise<void> {
    for (let n = 0; n < 6; n++) {
      this.clock.advance(20);
      await this.#engine.quiet();
    }
  }

  #endOf({ windowMs }: Claim): number {
    return this.clock.nowMs - this.clock.nowMs % windowMs + windowMs;
  }

  #windowOf(key: string, windowMs: number): string {
    return `${key}/${this.clock.nowMs - this.clock.nowMs % windowMs}`;
  }

  /** Every versionstamp in the store. */
  async rows(): Promise<string[]> {
    const rows: string[] = [];
    for await (const { key, versionstamp } of this.kv.list({ prefix: [] })) {
      rows.push(`${key.join("/")} ${versionstamp}`);
    }
    return rows;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.settle();
    for (const store of this.#stores) await store.close();
    await turn();
    this.kv.close();
  }
}

/** The burst, minute and plan limits of a request, with random values. */
export function someClaims(dice: Random, most: number): Claims {
  const claims = ["a", "b"].flatMap((key) => [
    { key: `burst ${key}`, limit: 1 + dice.below(most), windowMs: TEN_SECONDS_MS },
    { key: `minute ${key}`, limit: 1 + dice.below(most), windowMs: MINUTE_MS },
  ]);
  return [{ key: "plan", limit: 1 + dice.below(2 * most), windowMs: MINUTE_MS }, ...claims];
}

/** Some of them, in random order; now and then a caller wants several of each. */
export function subset(dice: Random, claims: Claims): Claims {
  const amount = 2 + dice.below(6);
  const wanted = dice.chance(0.2) ? claims.map((claim) => ({ ...claim, amount })) : claims;
  const [first, ...others] = dice.shuffle(wanted);
  return [first!, ...others.slice(0, dice.below(claims.length))];
}
