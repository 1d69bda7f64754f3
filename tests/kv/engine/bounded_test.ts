import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { setImmediate } from "node:timers";
import { withoutRepeats } from "../../../core/host/host.ts";
import { Store } from "../../../kv/store/store.ts";
import { CALL_MS } from "../../../kv/engine/bounded.ts";
import { StoreUnavailableError } from "../../../kv/engine/errors.ts";
import { ManualClock } from "../../support/clock.ts";
import { overKv } from "../../support/kv.ts";

/** A store on a server that answers no call while it is away, and all of them when it is back. */
async function bench() {
  const engine = await Deno.openKv(":memory:");
  const clock = new ManualClock();
  let back = Promise.withResolvers<void>(), away = back;
  back.resolve();
  const calls: Promise<unknown>[] = [];
  const reached = <T>(call: () => Promise<T>): Promise<T> => {
    const answer = back.promise.then(call);
    calls.push(answer);
    return answer;
  };
  const kv = overKv(engine, {
    get: ((key: Deno.KvKey) => reached(() => engine.get(key))) as Deno.Kv["get"],
    atomic: () => {
      const op = engine.atomic();
      const commit = op.commit.bind(op);
      op.commit = () => reached(commit);
      return op;
    },
  });
  const store = new Store(kv, { clock, sole: false, hasQueue: false, remote: true });
  const changes: (string | null)[] = [];
  store.health.onChange((failure) => changes.push(failure?.message ?? null));
  return {
    clock,
    store,
    changes,
    calls: () => calls.length,
    leave: () => away = back = Promise.withResolvers(),
    /** Answers calls that begin from now on. */
    answerNew() {
      back = Promise.withResolvers();
      back.resolve();
    },
    /** Resolves when every call has been answered. */
    async comeBack() {
      away.resolve();
      await Promise.all(calls);
      await turn();
    },
    [Symbol.dispose]: () => engine.close(),
  };
}

const KEY = ["some", "key"];
/** Lets every continuation run. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("bounded: a read and a commit that get no answer fail after CALL_MS, not before", async () => {
  using b = await bench();
  b.leave();
  const read = b.store.kv.get(KEY), commit = b.store.kv.atomic().set(KEY, 1).commit();
  const outcome: string[] = [];
  const note = (error: unknown) => outcome.push((error as Error).name);
  read.catch(note);
  commit.catch(note);
  b.clock.advance(CALL_MS - 1);
  await turn();
  deepStrictEqual(outcome, []);
  b.clock.advance(1);
  await turn();
  deepStrictEqual(outcome, ["StoreUnavailableError", "StoreUnavailableError"]);
  await b.comeBack();
});

Deno.test("bounded: during an outage calls fail at once, and one probe each 500 ms reaches the server", async () => {
  using b = await bench();
  b.leave();
  const first = b.store.kv.get(KEY);
  b.clock.advance(CALL_MS);
  await rejects(first, StoreUnavailableError);
  const before = b.calls();
  for (let i = 0; i < 100; i++) await rejects(b.store.kv.get(KEY), StoreUnavailableError);
  strictEqual(b.calls() - before, 0);
  b.clock.advance(500);
  for (let i = 0; i < 100; i++) await rejects(b.store.kv.get(KEY), StoreUnavailableError);
  strictEqual(b.calls() - before, 1);
  await b.comeBack();
  await b.store.kv.get(KEY);
});

Deno.test("bounded: the return of the server is noticed without a caller", async () => {
  using b = await bench();
  let returns = 0;
  b.store.health.onReturn(() => returns++);
  b.leave();
  const first = b.store.kv.get(KEY);
  b.clock.advance(CALL_MS);
  await rejects(first, StoreUnavailableError);
  b.clock.advance(500);
  await turn();
  strictEqual(returns, 0);
  await b.comeBack();
  strictEqual(returns, 1);
  const calls = b.calls();
  b.clock.advance(5_000);
  strictEqual(b.calls(), calls, "probes end with the outage");
});

Deno.test("bounded: one call without an answer is no outage while others are answered", async () => {
  using b = await bench();
  b.leave();
  const stuck = b.store.kv.get(KEY);
  b.clock.advance(CALL_MS - 1_000);
  b.answerNew();
  await b.store.kv.get(KEY);
  b.clock.advance(1_000);
  await rejects(stuck, StoreUnavailableError);
  await b.store.kv.get(KEY);
  deepStrictEqual(b.changes, []);
  await b.comeBack();
});

Deno.test("bounded: any late answer ends the outage, which is told once at its beginning and end", async () => {
  using b = await bench();
  b.leave();
  const all = [1, 2, 3].map(() => b.store.kv.get(KEY));
  b.clock.advance(CALL_MS);
  for (const call of all) await rejects(call, StoreUnavailableError);
  await b.comeBack();
  await b.store.kv.get(KEY);
  deepStrictEqual(b.changes, ["the database server did not answer within 4 s", null]);
});

Deno.test("bounded: what calls said during an outage is not logged beside it, nor a moment after its end", async () => {
  using b = await bench();
  const written: unknown[] = [];
  const note = (message: string) => void written.push(message);
  const log = withoutRepeats(
    { info: note, warn: note, error: note },
    b.store,
  );
  b.leave();
  const late = b.store.kv.get(KEY).catch((error) => error);
  b.clock.advance(CALL_MS);
  const errors = [await late, await b.store.kv.get(KEY).catch((error) => error)];
  for (const { stack } of errors) log.error("during", { error: stack });
  await b.comeBack();
  for (const { stack } of errors) log.error("after", { error: stack });
  deepStrictEqual(written, []);
  log.error("another", { error: new StoreUnavailableError("the store is closing").stack });
  deepStrictEqual(written, ["another"]);
});

Deno.test("bounded: an error of the server is unavailability, and a refusal stays what it is", async () => {
  const engine = await Deno.openKv(":memory:");
  const kv = overKv(engine, {
    get: (() => Promise.reject(new TypeError("connection reset"))) as Deno.Kv["get"],
  });
  const store = new Store(kv, {
    clock: new ManualClock(),
    sole: false,
    hasQueue: false,
    remote: true,
  });
  await rejects(store.kv.get(KEY), StoreUnavailableError);
  await rejects(store.kv.set(["k"], "x".repeat(70_000)), TypeError);
  engine.close();
});
