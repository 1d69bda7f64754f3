import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { adoptBlob, dropBlob, readBlob, sweepBlobs, writeBlob } from "../../kv/store/blob.ts";
import { StoreUnavailableError } from "../../kv/engine/errors.ts";
import { BLOB_BYTES_MAX, CHUNK_BYTES } from "../../kv/engine/engine_limits.ts";
import { Store } from "../../kv/store/store.ts";
import { EventLog } from "../../kv/log/log.ts";
import { type Bench, dump, overKv, shared } from "../support/kv.ts";

/** Guarantees of every store for events and blobs, on any engine. */
export function logContract(name: string, open: () => Promise<Bench>): void {
  Deno.test(`${name}: outbox rows are ordered by the versionstamp at the end of their keys`, async () => {
    await using bench = await open();
    const { kv, tenant } = bench;
    const stamps: (string | null)[] = [];
    for (let n = 0; n < 5; n++) {
      const key = [tenant.org, "stamped", kv.commitVersionstamp()] as unknown as Deno.KvKey;
      const result = await kv.atomic().set(key, n).commit();
      stamps.push(result.ok ? result.versionstamp : null);
    }
    const rows = await Array.fromAsync(kv.list({ prefix: [tenant.org, "stamped"] }));
    deepStrictEqual(rows.map(({ value }) => value), [0, 1, 2, 3, 4]);
    deepStrictEqual(rows.map(({ key }) => key.at(-1)), stamps);
    deepStrictEqual(rows.map(({ versionstamp }) => versionstamp), stamps);
  });

  Deno.test(`${name}: an acknowledged event survives its process`, async () => {
    await using bench = await open();
    const { clock, tenant, other, kv } = bench;
    const { sole, hasQueue } = bench.store;
    const dying = new Store(shared(kv), { clock, sole, hasQueue });
    await Promise.all([1, 2, 3].map((n) => dying.append(tenant, "wrote", `{"n":${n}}`)));
    await dying.append(other, "wrote", "{}");
    await dying.close();
    const next = new EventLog(new Store(shared(kv), { clock, sole, hasQueue }), () => {});
    await next.flush();
    deepStrictEqual(
      await next.read(tenant, 0, 9),
      [1, 2, 3].map((n) => ({ seq: n, type: "wrote", json: `{"n":${n}}` })),
    );
    deepStrictEqual(await next.read(other, 0, 9), [{ seq: 1, type: "wrote", json: "{}" }]);
    strictEqual(await next.head(tenant), 3);
  });

  Deno.test(`${name}: numbers are dense in each tenant, and readers can start anywhere`, async () => {
    await using bench = await open();
    const { store, log, tenant, other } = bench;
    const told: number[] = [];
    log.onSequenced((where, events) => {
      if (where.space === tenant.space) told.push(...events.map(({ seq }) => seq));
    });
    for (let round = 0; round < 6; round++) {
      await Promise.all(
        Array.from(
          { length: 1 + round * 7 },
          (_, n) =>
            store.append(n % 3 === 0 ? other : tenant, "tick", `{"round":${round},"n":${n}}`),
        ),
      );
      await log.flush();
    }
    const all = await log.read(tenant, 0, 1000);
    deepStrictEqual(all.map(({ seq }) => seq), all.map((_, at) => at + 1));
    deepStrictEqual(told, all.map(({ seq }) => seq));
    strictEqual(await log.head(tenant), all.length);
    for (let after = 0; after <= all.length; after++) {
      deepStrictEqual(await log.read(tenant, after, 5), all.slice(after, after + 5));
      const back = all.slice(0, after).reverse().slice(0, 5);
      deepStrictEqual(await log.readBack(tenant, after + 1, 5), back);
    }
    const ofOther = await log.read(other, 0, 1000);
    deepStrictEqual(ofOther.map(({ seq }) => seq), ofOther.map((_, at) => at + 1));
  });

  Deno.test(`${name}: a change and its events commit together or not at all`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    await store.transact((tx) => {
      for (const n of [1, 2, 3]) tx.append(tenant, `step_${n}`, "{}");
    });
    const refused = store.transact((tx) => {
      tx.append(tenant, "refused", "{}");
      tx.put(items, tenant, { id: 5 } as never);
    });
    await rejects(refused);
    deepStrictEqual((await bench.events()).map(({ type }) => type), ["step_1", "step_2", "step_3"]);
  });

  Deno.test(`${name}: a blob is read back whole and deleted with its record`, async () => {
    await using bench = await open();
    const { store, kv, tenant } = bench;
    const chunks = async () => (await dump(kv, [tenant.org, tenant.space, "blob"])).length;
    for (const size of [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, BLOB_BYTES_MAX]) {
      const bytes = Uint8Array.from({ length: size }, (_, at) => at * 31 % 251);
      const ref = await writeBlob(store, tenant, `b${size}`, bytes);
      await store.transact((tx) => adoptBlob(tx, tenant, ref));
      deepStrictEqual(await readBlob(store, tenant, ref), bytes);
      strictEqual(await chunks(), Math.ceil(size / CHUNK_BYTES));
      await store.transact((tx) => dropBlob(tx, tenant, ref));
      strictEqual(await chunks(), 0);
      if (size > 0) strictEqual(await readBlob(store, tenant, ref), null);
    }
    const huge = new Uint8Array(BLOB_BYTES_MAX + 1);
    await rejects(writeBlob(store, tenant, "huge", huge), RangeError);
  });

  Deno.test(`${name}: the sweep deletes only blobs without a record`, async () => {
    await using bench = await open();
    const { store, tenant, clock } = bench;
    const bytes = new Uint8Array(CHUNK_BYTES * 2).fill(7);
    const kept = await writeBlob(store, tenant, "kept", bytes);
    await store.transact((tx) => adoptBlob(tx, tenant, kept));
    const lost = await writeBlob(store, tenant, "lost", bytes);
    clock.advance(60 * 60 * 1000);
    const young = await writeBlob(store, tenant, "young", bytes);
    strictEqual(await sweepBlobs(store), 0);
    clock.advance(1);
    strictEqual(await sweepBlobs(store), 1);
    strictEqual(await readBlob(store, tenant, lost), null);
    const late = store.transact((tx) => adoptBlob(tx, tenant, lost));
    await rejects(late, StoreUnavailableError, "a record refers to deleted chunks");
    ok(await readBlob(store, tenant, kept));
    ok(await readBlob(store, tenant, young));
    strictEqual(await sweepBlobs(store), 0);
  });

  Deno.test(`${name}: a blob that gets its record during the sweep stays`, async () => {
    await using bench = await open();
    const { store, kv, tenant, clock } = bench;
    const bytes = new Uint8Array(CHUNK_BYTES + 1).fill(7);
    const ref = await writeBlob(store, tenant, "late", bytes);
    clock.advance(60 * 60 * 1000 + 1);
    const { sole, hasQueue } = store;
    let adopted = false;
    const getMany = async (keys: readonly Deno.KvKey[]) => {
      const rows = await kv.getMany([...keys]);
      if (!adopted) await store.transact((tx) => adoptBlob(tx, tenant, ref));
      adopted = true;
      return rows;
    };
    const over = overKv(kv, { close: () => {}, getMany: getMany as Deno.Kv["getMany"] });
    const sweeper = new Store(over, { clock, sole, hasQueue });
    strictEqual(await sweepBlobs(sweeper), 1);
    deepStrictEqual(await readBlob(store, tenant, ref), bytes);
  });
}
