import { deepStrictEqual as deq } from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { KeyWatch } from "../../kv/instances/watch.ts";
import { Store } from "../../kv/store/store.ts";
import { ManualClock } from "../support/clock.ts";
import { overKv } from "../support/kv.ts";

const KEY = ["watched"];

Deno.test("watch: after the store's return it sees what a silent watch missed, and watches anew", async () => {
  using engine = await Deno.openKv(":memory:");
  const clock = new ManualClock();
  let opened = 0;
  const silent = new ReadableStream({ start() {} });
  const kv = overKv(engine, {
    watch: ((keys: readonly Deno.KvKey[]) =>
      ++opened === 1 ? silent : engine.watch(keys)) as Deno.Kv["watch"],
  });
  const store = new Store(kv, { clock, sole: false, hasQueue: false });
  const heard = { count: 0, next: Promise.withResolvers<void>() };
  const hear = () => {
    heard.count++;
    heard.next.resolve();
    heard.next = Promise.withResolvers();
  };
  const errors: unknown[] = [];
  const watch = new KeyWatch(store, () => [[KEY, hear]], (error) => errors.push(error));
  watch.start();
  await engine.set(KEY, 1);
  await setImmediate();
  deq([heard.count, opened], [0, 1]);
  const missed = heard.next.promise;
  watch.reopen();
  await missed;
  while (opened < 2) await setImmediate();
  const later = heard.next.promise;
  await engine.set(KEY, 2);
  await later;
  await watch.stop();
  deq(errors, []);
});
