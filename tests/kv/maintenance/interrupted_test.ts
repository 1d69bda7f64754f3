import { deepStrictEqual as deq, ok, rejects, strictEqual as eq, throws } from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import {
  migrate,
  MIGRATING_KEY,
  newestSchema,
  refuseNewer,
  SCHEMA_KEY,
} from "../../../kv/maintenance/migrations.ts";
import { Store } from "../../../kv/store/store.ts";
import { EagerClock, overKv } from "../../support/kv.ts";
import { withFolder } from "../../support/processes.ts";

/** A store of before all migrations, whose relay wrote this schema. */
const OLD = new URL("../../fixtures/stores/e56378a", import.meta.url).href;
const about = JSON.parse(await Deno.readTextFile(new URL(`${OLD}.json`)));
const file = gunzipSync(await Deno.readFile(new URL(`${OLD}.kv.gz`)));

/** The engine, whose write with this number fails, made or not, after which the process is dead. */
function dying(kv: Deno.Kv, at: number, made: boolean) {
  let writes = 0;
  const write = async <R>(make: () => Promise<R>): Promise<R> => {
    if (++writes < at) return await make();
    if (writes === at && made) await make();
    throw new Error("the disk is full");
  };
  return {
    writes: () => writes,
    kv: overKv(kv, {
      atomic: () => {
        const op = kv.atomic();
        const commit = op.commit.bind(op);
        op.commit = () => write(commit);
        return op;
      },
      set: (...args) => write(() => kv.set(...args)),
      delete: (key) => write(() => kv.delete(key)),
    }),
  };
}

const storeOver = (kv: Deno.Kv) => {
  const clock = new EagerClock();
  clock.nowMs = Date.parse(about.made_at) + 1_000;
  return new Store(kv, { clock, sole: true, hasQueue: true });
};

/** Everything in a store. */
async function contentOf(kv: Deno.Kv) {
  const rows = [];
  for await (const { key, value } of kv.list({ prefix: [] })) rows.push([key, value]);
  return rows;
}

/** Uses a fresh copy of the old store. */
const withOld = (use: (kv: Deno.Kv) => Promise<void>) =>
  withFolder(async (folder) => {
    await Deno.writeFile(`${folder}/relay.kv`, file);
    const kv = await Deno.openKv(`${folder}/relay.kv`);
    try {
      await use(kv);
    } finally {
      kv.close();
    }
  });

Deno.test("migrate: after a failure of any of its writes the store opens in the old or the new form, never between", async () => {
  let before: unknown[] = [], after: unknown[] = [], schema = -1;
  await withOld(async (kv) => {
    before = await contentOf(kv);
    schema = (await kv.get<number>(SCHEMA_KEY)).value!;
    await migrate(storeOver(kv));
    after = await contentOf(kv);
    eq((await kv.get(MIGRATING_KEY)).value, null);
  });
  ok(schema < newestSchema(), "the fixture needs no migration");

  const forms = { old: 0, new: 0 };
  for (const made of [false, true]) {
    for (let at = 1, ended = false; !ended; at++) {
      await withOld(async (kv) => {
        const failing = dying(kv, at, made);
        const migrating = migrate(storeOver(failing.kv));
        ended = await migrating.then(() => true, () => false);
        if (ended) return eq(failing.writes(), at - 1);
        await rejects(migrating, /the disk is full/);
        const stored = (await kv.get<number>(SCHEMA_KEY)).value!;
        if (stored === schema) {
          forms.old++;
          deq(await contentOf(kv), before, `write ${at}: nothing is migrated under the old number`);
        } else {
          forms.new++;
          throws(() => refuseNewer("the store", stored, schema), /start a newer Relay/);
        }
        await migrate(storeOver(kv));
        deq(await contentOf(kv), after, `write ${at}: the next start completes it`);
      });
    }
  }
  eq(forms.old, 1);
  ok(forms.new > 2 * newestSchema(), `${forms.new} failures were tried`);
});
