import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { Store } from "../../../kv/store/store.ts";
import { ManualClock } from "../../support/clock.ts";
import { committing, dump, item, itemsNamed } from "../../support/kv.ts";

const TENANT = { org: "org_1", space: "live" } as const;
const items = itemsNamed("items", 0);
const KEY = ["some", "key"], SUM = ["some", "sum"];

/** A store on a server whose client repeats commits, because it gets no reply to the first `lost` of each. */
async function repeating(lost: number) {
  const engine = await Deno.openKv(":memory:");
  const clock = new ManualClock();
  const state = { lost };
  const kv = committing(engine, async (commit) => {
    for (let n = 0; n < state.lost; n++) await commit();
    return await commit();
  });
  const store = new Store(kv, { clock, sole: false, hasQueue: false, remote: true });
  return { clock, engine, state, store, [Symbol.dispose]: () => engine.close() };
}

Deno.test("single commits: a sum and an appended row of a repeated commit count once", async () => {
  using b = await repeating(2);
  const { kv } = b.store;
  const appended = ["log", kv.commitVersionstamp()] as unknown as Deno.KvKey;
  const done = await kv.atomic().sum(SUM, 1n).set(appended, "row").commit();
  eq(done.ok, true);
  eq((await kv.get<Deno.KvU64>(SUM)).value?.value, 1n);
  eq((await dump(b.engine, ["log"])).length, 1);
});

Deno.test("single commits: a repeated commit with checks succeeded, with the versionstamp of its first time", async () => {
  using b = await repeating(1);
  const { kv } = b.store;
  const done = await kv.atomic().check({ key: KEY, versionstamp: null }).set(KEY, 1).commit();
  deq(done, { ok: true, versionstamp: (await kv.get(KEY)).versionstamp! });
});

Deno.test("single commits: a record that was created by a repeated commit is no duplicate of itself", async () => {
  using b = await repeating(1);
  let runs = 0;
  await b.store.transact((tx) => {
    runs++;
    tx.insert(items, TENANT, item("one"));
  });
  eq(runs, 1);
  eq((await b.store.get(items, TENANT, "one"))?.slug, "slug-one");
});

Deno.test("single commits: a commit that another writer prevented fails", async () => {
  using b = await repeating(1);
  const { kv } = b.store;
  await b.engine.set(KEY, "another writer's");
  const refused = await kv.atomic().check({ key: KEY, versionstamp: null }).set(KEY, 1).commit();
  deq([refused.ok, (await kv.get(KEY)).value], [false, "another writer's"]);
  eq((await kv.atomic().sum(SUM, 1n).commit()).ok, true);
  eq((await kv.get<Deno.KvU64>(SUM)).value?.value, 1n);
});

Deno.test("single commits: a mark that may have expired is not used again", async () => {
  using b = await repeating(0);
  const { kv } = b.store;
  await kv.atomic().sum(SUM, 1n).commit();
  for await (const { key } of b.engine.list({ prefix: ["~", "mark"] })) await b.engine.delete(key);
  b.clock.advance(24 * 60 * 60 * 1000);
  eq((await kv.atomic().sum(SUM, 1n).commit()).ok, true);
});
