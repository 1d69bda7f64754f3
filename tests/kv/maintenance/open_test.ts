import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { dirname } from "node:path";
import type { Clock } from "../../../kv/store/clock.ts";
import { collection } from "../../../kv/store/collection.ts";
import { StoreUnavailableError } from "../../../kv/engine/errors.ts";
import { DELAY_MS_MAX } from "../../../kv/engine/engine_limits.ts";
import { migrate, type Migration } from "../../../kv/maintenance/migrations.ts";
import { isOwned, lockStore, openStore } from "../../../kv/maintenance/open.ts";
import { Store } from "../../../kv/store/store.ts";
import { ManualClock } from "../../support/clock.ts";
import { Bench, ITEM, item, overKv } from "../../support/kv.ts";

const clock = new ManualClock();
const sleeping = (sleep: () => Promise<void>): Clock => ({
  now: () => 0,
  monotonic: () => 0,
  after: () => () => {},
  sleep,
});
const inDirectory = async (work: (path: string) => Promise<void>) => {
  const dir = await Deno.makeTempDir();
  try {
    await work(`${dir}/deep/relay.kv`);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
};

/** Another process that tries to open the store and prints the result. */
async function openElsewhere(path: string, work = ""): Promise<string> {
  const code = `
    import { openStore } from ${
    JSON.stringify(import.meta.resolve("../../../kv/maintenance/open.ts"))
  };
    const clock = { now: () => 0, monotonic: () => 0, after: () => () => {}, sleep: () => Promise.resolve() };
    try {
      const opened = await openStore(${JSON.stringify(path)}, clock);
      ${work}
      await opened.close();
      console.log("opened");
    } catch (error) {
      console.log(error.message);
    }`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--unstable-kv", code],
    stderr: "null",
  }).output();
  return new TextDecoder().decode(stdout).trim();
}

Deno.test("openStore: one process owns a file, and the error of a second one says what to do", async () => {
  await inDirectory(async (path) => {
    const opened = await openStore(path, clock);
    await rejects(openStore(path, clock), /another Relay has the store .* open/);
    ok(/another Relay has the store .* open/.test(await openElsewhere(path)));
    await opened.close();
    strictEqual(await openElsewhere(path), "opened");
  });
});

Deno.test("openStore: a probe of the lock does not prevent opening", async () => {
  await inDirectory(async (path) => {
    strictEqual(isOwned(path), false);
    const first = await openStore(path, clock);
    strictEqual(isOwned(path), true);
    await first.close();
    strictEqual(isOwned(path), false);
    // During a probe.
    using look = await Deno.open(`${path}.lock`);
    ok(await look.tryLock(false));
    let looks = 0;
    const patient = sleeping(() => ++looks === 3 ? look.unlock() : Promise.resolve());
    const opened = await openStore(path, patient);
    strictEqual(looks, 3);
    await opened.close();
    ok(await look.tryLock(false));
    const never = sleeping(() => Promise.resolve());
    await rejects(openStore(path, never), /another Relay has the store .* open/);
  });
});

Deno.test("lockStore: a released store can be locked at once while child processes start", async () => {
  const starting = `for (;;) await new Deno.Command("true").output();`;
  const worker = new Worker(`data:application/javascript,${encodeURIComponent(starting)}`, {
    type: "module",
  });
  try {
    await inDirectory(async (path) => {
      for (let taken = 0; taken < 2_000; taken++) (await lockStore(path, clock))[Symbol.dispose]();
    });
  } finally {
    worker.terminate();
  }
});

Deno.test("openStore: links to one file share its lock, and only the owner may read the file", async () => {
  await inDirectory(async (path) => {
    const opened = await openStore(path, clock);
    const link = `${path}.link`;
    await Deno.symlink(path, link);
    await rejects(openStore(link, clock), /another Relay has the store .* open/);
    strictEqual(isOwned(link), true);
    await opened.close();
    await (await openStore(link, clock)).close();
    for (const end of ["", ".lock"]) strictEqual(Deno.statSync(path + end).mode! & 0o777, 0o600);
  });
});

Deno.test("openStore: a link that exists before its file shares the lock", async () => {
  await inDirectory(async (path) => {
    const link = `${dirname(path)}.link`;
    await Deno.mkdir(dirname(path));
    await Deno.symlink("deep/relay.kv", link);
    strictEqual(isOwned(link), false);
    const opened = await openStore(link, clock);
    await rejects(openStore(path, clock), /another Relay has the store .* open/);
    strictEqual(isOwned(link), true);
    await opened.close();
    for (const end of ["", ".lock"]) strictEqual(Deno.statSync(path + end).mode! & 0o777, 0o600);
  });
});

Deno.test("openStore: a killed process releases its lock and keeps its acknowledged events", async () => {
  await inDirectory(async (path) => {
    const append = `await opened.store.append({ org: "o", space: "live" }, "told", "{}");
      Deno.kill(Deno.pid, "SIGKILL");`;
    strictEqual(await openElsewhere(path, append), "");
    await using file = new Bench(await Deno.openKv(path));
    strictEqual((await file.events({ org: "o", space: "live" })).length, 1);
    const opened = await openStore(path, clock);
    await opened.close();
  });
});

Deno.test("openStore: a store that fails to open is unlocked", async () => {
  await inDirectory(async (path) => {
    const opened = await openStore(path, clock);
    await opened.store.kv.set(["~", "schema"], 9_999);
    await opened.close();
    for (let round = 0; round < 2; round++) await rejects(openStore(path, clock), /schema 9999/);
    if (Deno.build.os !== "linux") return;
    const files = await Array.fromAsync(
      Deno.readDir("/proc/self/fd"),
      ({ name }) => Deno.readLink(`/proc/self/fd/${name}`).catch(() => ""),
    );
    deepStrictEqual(files.filter((file) => file.startsWith(path)), []);
  });
});

Deno.test("migrate: each migration runs once, in order, and none on a new store", async () => {
  await using bench = await Bench.memory();
  const ran: number[] = [];
  const upTo = (newest: number): Migration[] =>
    Array.from({ length: newest }, (_, at) => ({
      number: at + 1,
      name: `m${at + 1}`,
      run: () => Promise.resolve(void ran.push(at + 1)),
    }));
  await migrate(bench.store, upTo(2));
  deepStrictEqual(ran, []);
  await migrate(bench.store, upTo(2));
  deepStrictEqual(ran, []);
  await migrate(bench.store, upTo(5));
  await migrate(bench.store, upTo(5));
  deepStrictEqual(ran, [3, 4, 5]);
  await rejects(migrate(bench.store, upTo(4)), /schema 5, this program knows 4/);
  const failing = upTo(7);
  failing[6] = { number: 7, name: "m7", run: () => Promise.reject(new Error("half way")) };
  await rejects(migrate(bench.store, failing), /half way/);
  await migrate(bench.store, upTo(7));
  deepStrictEqual(ran, [3, 4, 5, 6, 7], "a migration that succeeded does not run again");
});

Deno.test("Store.close: commits what is queued and refuses later changes", async () => {
  const engine = await Deno.openKv(":memory:");
  const store = new Store(overKv(engine, { close: () => {} }), {
    clock,
    sole: true,
    hasQueue: true,
  });
  const { items, tenant } = new Bench(engine);
  const put = (id: string) => store.transact((tx) => tx.insert(items, tenant, item(id)));
  const waiting = Promise.all(["a", "b", "c"].map((id) => store.append(tenant, id, "{}")));
  strictEqual(store.closing, false);
  await store.close();
  await waiting;
  strictEqual(store.closing, true);
  await rejects(put("d"), StoreUnavailableError);
  await rejects(store.append(tenant, "e", "{}"), StoreUnavailableError);
  engine.close();
});

Deno.test("Tx.alarm: sends one message with the commit, within the engine's limits", async () => {
  const delays: (number | undefined)[] = [];
  const engine = await Deno.openKv(":memory:");
  const kv = overKv(engine, {
    atomic: () => {
      const op = engine.atomic();
      op.enqueue = (_, options) => {
        delays.push(options?.delay);
        return op;
      };
      return op;
    },
  });
  await using bench = new Bench(kv);
  const failing = bench.store.transact((tx) => {
    tx.alarm(0);
    throw new Error("no");
  });
  await rejects(failing);
  for (const delay of [5, -5, DELAY_MS_MAX * 2]) {
    await bench.store.transact((tx) => tx.alarm(delay));
  }
  deepStrictEqual(delays, [5, 0, DELAY_MS_MAX]);
  const plain = new Bench(kv, "y", { sole: true, hasQueue: false });
  await plain.store.transact((tx) => tx.alarm(5));
  strictEqual(delays.length, 3);
});

Deno.test("collection: an impossible declaration is refused", () => {
  const spec = { name: "c", schema: ITEM };
  const twice = () =>
    collection({ ...spec, unique: { slug: () => ["a"] }, index: { slug: () => [] } });
  const counted = () => collection({ ...spec, counted: true, expiresAt: () => 1 });
  for (const declare of [twice, counted]) throws(declare, TypeError);
});
