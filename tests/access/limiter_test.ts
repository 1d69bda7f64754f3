import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import type { Actor } from "../../core/identity/identity.ts";
import { ANONYMOUS } from "../../core/access/authenticate.ts";
import { type Config, parseConfig } from "../../core/context/config.ts";
import { Fault } from "../../core/fault/fault.ts";
import { Limiter, type LimitState, mustPass, UNLIMITED } from "../../core/access/limits/limiter.ts";
import { LeasedCounters } from "../../kv/limits/counters.ts";
import { LeasedSlots } from "../../kv/limits/slots.ts";
import { Store } from "../../kv/store/store.ts";
import { failure, overLimit } from "../../routes/http/refusal.ts";
import { ManualClock } from "../support/clock.ts";

/** A limiter on a store of its own, with a configuration that may change. */
class Bench implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly limiter: Limiter;
  config: Config;
  readonly #store: Store;

  private constructor(kv: Deno.Kv, config: unknown) {
    this.config = parseConfig(JSON.stringify(config));
    this.#store = new Store(kv, { clock: this.clock, sole: true, hasQueue: false });
    this.limiter = new Limiter({
      counters: new LeasedCounters(this.#store, 1),
      addresses: new LeasedCounters(this.#store, 1),
      connections: new LeasedSlots(this.#store, "ins", 1),
      config: () => this.config,
      now: () => this.clock.now(),
    });
  }

  static async open(config: unknown): Promise<Bench> {
    return new Bench(await Deno.openKv(":memory:"), config);
  }

  /** How many of so many calls are admitted, each ending at once, and which limit refused the first. */
  async calls(actor: Actor, call: "rest" | "mcp", many: number): Promise<[number, string | null]> {
    let admitted = 0, refused: string | null = null;
    for (let n = 0; n < many; n++) {
      const state = await this.limiter.admit(actor, call);
      if (!state.admitted) refused ??= state.claim.kind.scope;
      else {
        admitted++;
        this.limiter.leave(actor);
      }
    }
    return [admitted, refused];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close();
  }
}

const tenant = { org: "org_1", space: "live" } as const;
const user: Actor = { ...ANONYMOUS, kind: "user", id: "usr_1", tenant, plan: "starter" };
const key: Actor = {
  ...user,
  kind: "api_key",
  id: "key_1",
  key: { type: "live", limits: null, valueHash: "h", oldSinceMs: null, oldUntilMs: null },
};

Deno.test("Limiter: MCP calls and requests have separate limits, and share the burst and the plan", async () => {
  const limits = {
    live: { requests_per_minute: 4, mcp_calls_per_minute: 3, burst_per_10_seconds: 6 },
  };
  await using bench = await Bench.open({ limits, plans: { starter: { requests_per_minute: 9 } } });
  deq(await bench.calls(key, "mcp", 5), [3, "mcp"]);
  deq(await bench.calls(key, "rest", 5), [3, "burst"]);
  bench.clock.advance(10_000);
  deq(await bench.calls(key, "rest", 5), [1, "key"]);
  deq(await bench.calls(user, "mcp", 1), [1, null]);
  deq(await bench.calls(user, "rest", 5), [1, "organization"]);
  bench.clock.advance(50_000);
  deq(await bench.calls(key, "mcp", 9), [3, "mcp"]);
  deq(await bench.calls(user, "mcp", 9), [6, "organization"]);
});

Deno.test("Limiter: test keys have their own limits; an override replaces them, null is unlimited", async () => {
  await using bench = await Bench.open({ plans: { starter: { requests_per_minute: null } } });
  const held = { ...key.key!, type: "test" as const };
  deq(await bench.calls({ ...key, id: "a", key: held }, "rest", 99), [30, "key"]);
  const one = { ...held, limits: { requests_per_minute: 7 } };
  deq(await bench.calls({ ...key, id: "b", key: one }, "rest", 99), [7, "key"]);
  const none = { ...held, limits: { requests_per_minute: null } };
  deq(await bench.calls({ ...key, id: "c", key: none }, "rest", 99), [40, "burst"]);
  const plan = { ...key, id: "d", planLimits: { requests_per_minute: 2 } };
  deq(await bench.calls(plan, "rest", 9), [2, "organization"]);
});

Deno.test("Limiter: no limit shows the largest number", async () => {
  await using bench = await Bench.open({ plans: { starter: { requests_per_minute: null } } });
  const { admitted, claim, remaining, resetMs } = await bench.limiter.admit(user, "rest");
  deq([admitted, claim.limit, remaining], [true, UNLIMITED, UNLIMITED]);
  eq(resetMs, bench.clock.now() + 60_000);
});

Deno.test("Limiter: a reloaded configuration applies to the next request", async () => {
  const plans = { starter: { requests_per_minute: null } };
  const config = (n: number) => ({ limits: { live: { requests_per_minute: n } }, plans });
  await using bench = await Bench.open(config(5));
  deq(await bench.calls(key, "rest", 3), [3, null]);
  bench.config = parseConfig(JSON.stringify(config(4)));
  deq(await bench.calls(key, "rest", 3), [1, "key"]);
  bench.config = parseConfig(JSON.stringify(config(6)));
  deq(await bench.calls(key, "rest", 3), [2, "key"]);
});

Deno.test("Limiter: deliveries of a key's webhooks are counted separately, with the time of the next attempt", async () => {
  const limits = { test: { webhook_deliveries_per_minute: 2 } };
  await using bench = await Bench.open({ limits });
  const of = { id: "key_1", type: "test", limits: null } as const;
  const nowMs = bench.clock.now();
  const seen: LimitState[] = [];
  for (let n = 0; n < 3; n++) seen.push(await bench.limiter.takeForDelivery(of));
  deq(seen.map(({ admitted }) => admitted), [true, true, false]);
  deq([seen[2]!.resetMs, seen[2]!.claim.kind.scope], [nowMs + 60_000, "deliveries"]);
  bench.clock.advance(60_000);
  eq((await bench.limiter.takeForDelivery(of)).admitted, true);
  const unlimited = { ...of, limits: { webhook_deliveries_per_minute: null } };
  for (let n = 0; n < 9; n++) eq((await bench.limiter.takeForDelivery(unlimited)).admitted, true);
});

Deno.test("Limiter: the prebuilt refusal equals the thrown one", async () => {
  await using bench = await Bench.open({ limits: { public_per_minute: 1 } });
  await bench.limiter.takeForAddress("192.0.2.1");
  const limit = await bench.limiter.takeForAddress("192.0.2.1");
  const nowMs = bench.clock.now() + 1_500;
  const envelope = { requestId: "0198c0de", limit };
  let thrown: unknown;
  try {
    mustPass(limit, nowMs);
  } catch (error) {
    thrown = error;
  }
  const [written, failed] = [overLimit(envelope, nowMs), failure(envelope, thrown as Fault)];
  deq([...written.headers], [...failed.headers]);
  deq([written.status, await written.text()], [failed.status, await failed.text()]);
});
