import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { type Change, deleteKey, sumKey } from "../../../kv/store/change.ts";
import { Committer } from "../../../kv/commit/commit.ts";
import { StoreUnavailableError } from "../../../kv/engine/errors.ts";
import { CHECKS_MAX, MUTATIONS_MAX } from "../../../kv/engine/engine_limits.ts";
import { makeLine, OUTBOX } from "../../../kv/log/line.ts";
import { Bench as StoreBench, committing, EagerClock, item, strictKv } from "../../support/kv.ts";
import { change, check, event, set, TENANT } from "./changes.ts";

/** A committer over an engine in memory that counts its commits and can delay them. */
class Bench implements AsyncDisposable {
  commits = 0;
  refusals = 0;
  told: string[] = [];
  denied: string[] = [];
  failing: (() => void) | null = null;
  readonly met: (string | null)[] = [];
  readonly committer: Committer;

  private constructor(readonly kv: Deno.Kv, checksMax: number) {
    const counting = committing(kv, async (commit) => {
      this.commits++;
      this.failing?.();
      return await commit().catch((error) => {
        this.refusals++;
        throw error;
      });
    });
    this.committer = new Committer(counting, {
      clock: new EagerClock(),
      checksMax,
      after: () => {},
      log: () => ({
        sequence: () => null,
        waiting: (lines) => this.told.push(...lines.map(({ json }) => json)),
      }),
      denied: (checks) => this.denied.push(...checks.map(({ keyText }) => keyText)),
      health: { record: (why) => this.met.push(why?.message ?? null) },
    });
  }

  static async open(checksMax = CHECKS_MAX): Promise<Bench> {
    const kv = await Deno.openKv(":memory:");
    return new Bench(checksMax < CHECKS_MAX ? strictKv(kv) : kv, checksMax);
  }

  /** Submits all changes at once, so that they share commits. */
  submit(...changes: Change[]): Promise<PromiseSettledResult<string | null>[]> {
    return Promise.allSettled(changes.map((one) => this.committer.submit(one)));
  }

  async outbox(): Promise<string[]> {
    const rows = await Array.fromAsync(this.kv.list<Uint8Array>({ prefix: OUTBOX }));
    return rows.flatMap(({ value }) => new TextDecoder().decode(value).split("\n"))
      .map((line) => line.slice("o/live\tt\t".length));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.committer.close();
    this.kv.close();
  }
}

const committed = (outcome: PromiseSettledResult<string | null>) =>
  outcome.status === "fulfilled" && outcome.value !== null;

Deno.test("Committer.submit: queued callers share one commit and one outbox value", async () => {
  await using bench = await Bench.open();
  const lines = Array.from({ length: 64 }, (_, n) => `line ${n}`);
  const outcomes = await bench.submit(...lines.map((line) => event(line)));
  strictEqual(new Set(outcomes.map((o) => o.status === "fulfilled" && o.value)).size, 1);
  strictEqual(bench.commits, 1);
  deepStrictEqual(await bench.outbox(), lines);
  deepStrictEqual(bench.told, lines);
});

const BAD: Record<string, Change> = {
  "a value that is too large": change({ mutations: [set(["bad"], "x".repeat(70_000))] }),
  "a value that cannot be stored": change({ mutations: [set(["bad"], () => 1)] }),
  "a key that is too large": change({ mutations: [set(["x".repeat(3000)], 1)] }),
  "an empty key": change({ mutations: [set([], 1)] }),
  "a sum over what is no counter": change({
    mutations: [sumKey(["text"], 1n)],
  }),
  "an alarm beyond what the engine takes": change({ alarms: [31 * 86_400_000] }),
};

for (const [what, bad] of Object.entries(BAD)) {
  Deno.test(`Committer.submit: ${what} fails alone with its own error`, async () => {
    await using bench = await Bench.open();
    await bench.kv.set(["text"], "text");
    const good = (n: number) => ({ ...event(`line ${n}`), mutations: [set(["good", n], n)] });
    const outcomes = await bench.submit(
      ...Array.from({ length: 10 }, (_, n) => good(n)),
      bad,
      ...Array.from({ length: 10 }, (_, n) => good(10 + n)),
    );
    const failed = outcomes.filter((outcome) => outcome.status === "rejected");
    strictEqual(failed.length, 1);
    ok(failed[0]!.reason instanceof Error);
    ok(!(failed[0]!.reason instanceof StoreUnavailableError), String(failed[0]!.reason));
    strictEqual(outcomes[10]!.status, "rejected");
    strictEqual(outcomes.filter(committed).length, 20);
    deepStrictEqual(await bench.outbox(), Array.from({ length: 20 }, (_, n) => `line ${n}`));
  });
}

Deno.test("Committer.submit: a failed check fails only its own change", async () => {
  await using bench = await Bench.open();
  const stale = change({
    checks: [check(["a"], "00000000000000990000")],
    mutations: [set(["b"], 1)],
  });
  const good = (n: number) => change({ mutations: [set(["good", n], n)] });
  const outcomes = await bench.submit(good(1), good(2), stale, good(3), good(4));
  deepStrictEqual(outcomes.map(committed), [true, true, false, true, true]);
  deepStrictEqual(outcomes[2], { status: "fulfilled", value: null });
  deepStrictEqual(bench.denied, ["a"]);
  strictEqual((await bench.kv.get(["b"])).value, null);
});

Deno.test("Committer.submit: of two changes that read different versions of a key the older one fails", async () => {
  await using bench = await Bench.open();
  const old = await bench.kv.set(["a"], 1), now = await bench.kv.set(["a"], 2);
  const fresh = change({
    checks: [check(["a"], now.versionstamp)],
    mutations: [set(["seen"], 2)],
  });
  const stale = change({
    checks: [check(["a"], old.versionstamp)],
    mutations: [set(["a"], "built on 1")],
  });
  for (const order of [[fresh, stale], [stale, fresh]]) {
    const outcomes = await bench.submit(...order);
    deepStrictEqual(outcomes.map(committed), order.map((one) => one === fresh));
    strictEqual((await bench.kv.get(["a"])).value, 2);
  }
});

Deno.test("Committer.submit: of changes that read and write one key one succeeds and the others retry", async () => {
  await using bench = await Bench.open();
  const { versionstamp } = await bench.kv.set(["a"], 0);
  const claim = (n: number) =>
    change({ checks: [check(["a"], versionstamp)], mutations: [set(["a"], n)] });
  const outcomes = await bench.submit(claim(1), claim(2), claim(3));
  deepStrictEqual(outcomes.map(committed), [true, false, false]);
  strictEqual((await bench.kv.get(["a"])).value, 1);
  strictEqual(bench.commits, 1, "a change that has lost must not cost a commit");
});

Deno.test("Committer.submit: a change that checks a key never joins an earlier write of it", async () => {
  await using bench = await Bench.open();
  const writer = change({ mutations: [set(["a"], 1)] });
  const reader = change({ checks: [check(["a"], null)], mutations: [set(["b"], "a is absent")] });
  deepStrictEqual((await bench.submit(writer, reader)).map(committed), [true, false]);
  strictEqual((await bench.kv.get(["b"])).value, null);
});

Deno.test("Committer.submit: a deleted key can be created again", async () => {
  await using bench = await Bench.open();
  const create = change({ checks: [check(["a"], null)], mutations: [set(["a"], 1)] });
  for (let round = 0; round < 3; round++) {
    deepStrictEqual((await bench.submit(create)).map(committed), [true]);
    await bench.submit(change({ mutations: [deleteKey(["a"])] }));
  }
});

Deno.test("Committer.submit: no commit exceeds the engine's limits", async () => {
  await using bench = await Bench.open();
  const wide = Array.from(
    { length: 60 },
    (_, n) =>
      change({
        checks: Array.from({ length: 40 }, (_, at) => check(["none", n, at], null)),
        mutations: Array.from({ length: 90 }, (_, at) => set(["many", n, at], at)),
      }),
  );
  const heavy = Array.from(
    { length: 40 },
    (_, n) => change({ mutations: [set(["heavy", n], "x".repeat(60_000), 60_000)] }),
  );
  const keys = Array.from({ length: 20 }, (_, n) =>
    change({
      mutations: Array.from({ length: 30 }, (_, at) => set(["k".repeat(300), n, at], 1)),
    }));
  const tenants = Array.from({ length: 100 }, (_, n) =>
    change({
      lines: [makeLine(TENANT, "t", `${n}`)],
      lineBytes: 9,
      tenants: [`o${n}/live`, `o${n}/test`, `p${n}/live`],
    }));
  const lines = Array.from({ length: 40 }, () => event("y".repeat(14_000)));
  const many = wide.map(({ mutations }) => change({ mutations }));
  const callers = Array.from({ length: 300 }, (_, n) => change({ mutations: [set(["c", n], n)] }));
  // Each reaches another limit.
  const expected = [
    [wide, 30],
    [many, 6],
    [heavy, 4],
    [keys, 3],
    [tenants, 3],
    [lines, 10],
    [callers, 5],
  ] as const;
  for (const [changes, commits] of expected) {
    bench.commits = 0;
    ok((await bench.submit(...changes)).every(committed));
    strictEqual(bench.commits, commits);
  }
  strictEqual(bench.refusals, 0, "a commit that the engine refuses must be repeated");
});

Deno.test("Committer.submit: a change that no commit could hold is refused at once", async () => {
  await using bench = await Bench.open(10);
  const checks = Array.from({ length: 11 }, (_, at) => check(["c", at], null));
  await rejects(bench.committer.submit(change({ checks, mutations: [set(["a"], 1)] })), RangeError);
  const mutations = Array.from({ length: MUTATIONS_MAX }, (_, at) => set(["m", at], at));
  await rejects(bench.committer.submit({ ...event("line"), mutations }), RangeError);
  strictEqual(bench.commits, 0);
  ok(committed((await bench.submit(change({ mutations })))[0]!));
});

Deno.test("Committer.submit: callers share commits on a store of ten checks", async () => {
  await using bench = await Bench.open(10);
  const changes = Array.from({ length: 30 }, (_, n) =>
    change({
      checks: [check(["same"], null), check(["own", n], null)],
      mutations: [set(["out", n], n)],
    }));
  ok((await bench.submit(...changes)).every(committed));
  strictEqual(bench.commits, 4, "the shared check counts once: nine callers a commit");
});

Deno.test("Committer.submit: events keep the order of their callers when some fail", async () => {
  await using bench = await Bench.open();
  const changes: Change[] = [];
  for (let n = 0; n < 500; n++) {
    changes.push(event(`line ${n} ${"z".repeat(n % 7 === 0 ? 3000 : 10)}`));
    if (n % 50 === 25) changes.push(change({ mutations: [set(["bad"], "x".repeat(70_000))] }));
    if (n % 60 === 30) {
      changes.push(
        change({ checks: [check(["a"], "00000000000000990000")], mutations: [set(["b"], 1)] }),
      );
    }
  }
  await bench.submit(...changes);
  const numbers = (await bench.outbox()).map((line) => Number(line.split(" ")[1]));
  deepStrictEqual(numbers, Array.from({ length: 500 }, (_, n) => n));
  deepStrictEqual(bench.told.map((line) => Number(line.split(" ")[1])), numbers);
});

Deno.test("Committer.submit: later changes never starve an earlier one", async () => {
  await using bench = await Bench.open();
  let done = false, waited = 0;
  // Every commit writes the key that the waiting change read as absent, which defers it each time.
  const patient = async () => {
    while (true) {
      const { versionstamp } = await bench.kv.get(["hot"]);
      const checks = [check(["hot"], versionstamp)];
      const outcome = bench.committer.submit(change({ checks, mutations: [set(["mine"], 1)] }));
      waited++;
      if (await outcome !== null) return void (done = true);
    }
  };
  const waiting = patient();
  const rivals = Array.from({ length: 20 }, async (_, n) => {
    for (let round = 0; round < 20; round++) {
      await bench.committer.submit(change({ mutations: [set(["hot"], `${n} ${round}`)] }));
    }
  });
  await Promise.all([waiting, ...rivals]);
  ok(done);
  ok(waited <= 22, `${waited} attempts for 20 rounds of rivals`);
});

Deno.test("Committer.submit: a deferred change comes first in the next commit", async () => {
  await using bench = await Bench.open();
  let answered = 0;
  const rival = async (n: number) => {
    await bench.committer.submit(change({ mutations: [set(["hot"], n)] }));
    answered++;
  };
  const first = Array.from({ length: 50 }, (_, n) => rival(n));
  const patient = bench.committer.submit(
    change({ checks: [check(["hot"], null)], mutations: [set(["mine"], 1)] }),
  );
  const others = Array.from({ length: 600 }, (_, n) => rival(n));
  strictEqual(await patient, null);
  ok(answered <= 256, `${answered} came before it`);
  await Promise.all([...first, ...others]);
});

for (const [sole, checksMax] of [[true, 100], [false, 10]] as const) {
  Deno.test(`Store: a change reads at most ${checksMax} keys where sole is ${sole}`, async () => {
    await using bench = new StoreBench(await Deno.openKv(":memory:"), "x", {
      sole,
      hasQueue: false,
    });
    const { store, items, tenant } = bench;
    // It also reads its own row and its unique key.
    const reading = (n: number) =>
      store.transact(async (tx) => {
        for (let at = 2; at < n; at++) await tx.get(items, tenant, `none ${at}`);
        tx.put(items, tenant, item(`a${n}`));
      });
    await reading(checksMax);
    await rejects(reading(checksMax + 1), RangeError);
  });
}

Deno.test("Committer.submit: every caller and the log learn of an unknown outcome", async () => {
  await using bench = await Bench.open();
  const noReply = new Error("no reply from http://u:p@h/");
  for (const error of [noReply, new TypeError("disk I/O error")]) {
    bench.failing = () => {
      throw error;
    };
    const outcomes = await bench.submit(event("one"), event("two"));
    strictEqual(bench.commits, 1, "a change that may be written must not be written again");
    for (const outcome of outcomes) {
      ok(outcome.status === "rejected" && outcome.reason instanceof StoreUnavailableError);
      strictEqual(outcome.reason.cause, error);
    }
    deepStrictEqual(bench.told, ["one", "two"]);
    bench.failing = null, bench.commits = 0, bench.told = [];
  }
  ok(committed((await bench.submit(event("three")))[0]!));
  const unknown = "the outcome of a commit is unknown";
  deepStrictEqual(bench.met, [
    `${unknown}: no reply from http://h/`,
    `${unknown}: disk I/O error`,
    null,
  ]);
});

Deno.test("Committer.submit: a locked database is retried a limited number of times", async () => {
  await using bench = await Bench.open();
  let left = 3;
  bench.failing = () => {
    if (left-- > 0) throw new TypeError("database is locked");
  };
  ok(committed((await bench.submit(event("one")))[0]!));
  strictEqual(bench.commits, 4);
  left = Infinity;
  const [outcome] = await bench.submit(event("two"));
  ok(outcome!.status === "rejected" && outcome!.reason instanceof StoreUnavailableError);
  strictEqual(bench.commits, 54);
});

Deno.test("Committer.submit: a full queue refuses callers and empties again", async () => {
  await using bench = await Bench.open();
  const outcomes = await bench.submit(...Array.from({ length: 20_001 }, () => event("l")));
  strictEqual(outcomes.filter(committed).length, 20_000);
  const [last] = outcomes.slice(-1);
  ok(last!.status === "rejected" && last!.reason instanceof StoreUnavailableError);
  const mutations = [set(["big"], "small after all", 100 * 1024 * 1024)];
  const heavy = await bench.submit(change({ mutations }), change({ mutations }));
  deepStrictEqual(heavy.map(({ status }) => status), ["fulfilled", "rejected"]);
  ok(committed((await bench.submit(change({ mutations })))[0]!));
});

Deno.test("Committer.close: commits what is queued and refuses later changes", async () => {
  const bench = await Bench.open();
  const waiting = bench.submit(...Array.from({ length: 300 }, (_, n) => event(`line ${n}`)));
  await bench.committer.close();
  strictEqual((await bench.outbox()).length, 300);
  ok((await waiting).every(committed));
  await rejects(bench.committer.submit(event("late")), StoreUnavailableError);
  await bench.committer.idle();
  bench.kv.close();
});

Deno.test("Committer.idle: waits for the commit in flight", async () => {
  await using bench = await Bench.open();
  const waiting = bench.submit(...Array.from({ length: 300 }, () => event("l")));
  await bench.committer.idle();
  strictEqual((await bench.outbox()).length, 300);
  await waiting;
});
