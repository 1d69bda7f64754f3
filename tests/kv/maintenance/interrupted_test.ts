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

const STORES = new URL("../../fixtures/stores/", import.meta.url);

/** The stores of earlier versions, by name, and when they were made. */
const stores = [...Deno.readDirSync(STORES)].flatMap(({ name }) =>
  name.endsWith(".json") ? [name.slice(0, -".json".length)] : []
);
const madeMs = (name: string): number =>
  Date.parse(JSON.parse(Deno.readTextFileSync(new URL(`${name}.json`, STORES))).made_at);

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

function storeOver(kv: Deno.Kv, nowMs: number): Store {
  const clock = new EagerClock();
  clock.nowMs = nowMs;
  return new Store(kv, { clock, sole: true, hasQueue: true });
}

/** Everything in a store. */
async function contentOf(kv: Deno.Kv) {
  const rows = [];
  for await (const { key, value } of kv.list({ prefix: [] })) rows.push([key, value]);
  return rows;
}

/** Uses a fresh copy of a store. */
const withCopy = <R>(name: string, use: (kv: Deno.Kv) => Promise<R>): Promise<R> =>
  withFolder(async (folder) => {
    const packed = await Deno.readFile(new URL(`${name}.kv.gz`, STORES));
    await Deno.writeFile(`${folder}/relay.kv`, gunzipSync(packed));
    const kv = await Deno.openKv(`${folder}/relay.kv`);
    try {
      return await use(kv);
    } finally {
      kv.close();
    }
  });

const schemaOf = async (kv: Deno.Kv) => (await kv.get<number>(SCHEMA_KEY)).value!;

Deno.test("migrate: after a failure of any of its writes the store opens in the old or the new form, never between", async () => {
  const forms = { old: 0, new: 0 };
  for (const name of stores) {
    const nowMs = madeMs(name) + 1_000;
    const { before, after, schema } = await withCopy(name, async (kv) => {
      const [before, schema] = [await contentOf(kv), await schemaOf(kv)];
      await migrate(storeOver(kv, nowMs));
      eq((await kv.get(MIGRATING_KEY)).value, null);
      return { before, after: await contentOf(kv), schema };
    });
    if (schema === newestSchema()) continue;
    for (const made of [false, true]) {
      for (let at = 1, ended = false; !ended; at++) {
        await withCopy(name, async (kv) => {
          const failing = dying(kv, at, made);
          const migrating = migrate(storeOver(failing.kv, nowMs));
          ended = await migrating.then(() => true, () => false);
          if (ended) return eq(failing.writes(), at - 1);
          await rejects(migrating, /the disk is full/);
          const stored = await schemaOf(kv);
          if (stored === schema) {
            forms.old++;
            deq(await contentOf(kv), before, `write ${at}: the old number, and something migrated`);
          } else {
            forms.new++;
            throws(() => refuseNewer("the store", stored, schema), /start a newer Relay/);
          }
          await migrate(storeOver(kv, nowMs));
          deq(await contentOf(kv), after, `write ${at}: the next start completes it`);
        });
      }
    }
  }
  ok(forms.old >= 1);
  ok(forms.new > 2 * newestSchema(), `${forms.new} failures were tried`);
});
