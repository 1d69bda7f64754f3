import assert from "node:assert/strict";
import { examineFile, examineServer } from "../../core/keep/examine.ts";
import { sealersOf } from "../../core/keep/manifest.ts";
import { admitSecrets } from "../../core/secrets/installation.ts";
import { systemKey } from "../../kv/collection.ts";
import { openStore } from "../../kv/open.ts";
import { deliveries } from "../../kv/records/webhook.ts";
import { ManualClock } from "../support/clock.ts";
import { withFolder } from "../support/processes.ts";
import { seededBytes } from "./seeded.ts";

const MINUTE_MS = 60_000;
const clock = new ManualClock();
const entropy = seededBytes(3);

/** A store that a relay has begun, and what an examination of it goes by. */
async function furnish(folder: string, keys: readonly Deno.KvKey[] = []) {
  const kv = `${folder}/relay.kv`;
  const secrets = { secret: "the secret of this store", olderSecrets: [] };
  const { store, close } = await openStore(kv, clock);
  const fresh = { epoch: "e_first", created_at_ms: clock.now() };
  await store.transact((tx) => admitSecrets(tx, sealersOf(secrets, entropy)[0]!, fresh));
  for (const key of keys) await store.kv.set(key, null);
  await close();
  const retentionDays = { deliveries: 30 };
  return {
    kv,
    about: { settings: { kv, ...secrets }, retentionDays, nowMs: clock.now(), entropy },
  };
}

const dueKey = (dueMs: number) =>
  systemKey(deliveries, "due", ["whk_1", dueMs, 1, "org_1", "live", "dlv_1"]) as Deno.KvKey;

const statesOf = (findings: Awaited<ReturnType<typeof examineServer>>) =>
  Object.fromEntries(findings.map(({ name, state }) => [name, state]));

const sound = { store: "ok", schema: "ok", secret: "ok", jobs: "ok" };

Deno.test("examineServer: looks at what can be asked of a database, and at its due deliveries", async () => {
  await withFolder(async (folder) => {
    const { kv, about } = await furnish(folder, [dueKey(clock.now() + 1)]);
    assert.deepEqual(statesOf(await examineServer(kv, about)), sound);
    const later = { ...about, nowMs: clock.now() + 16 * MINUTE_MS };
    assert.deepEqual(statesOf(await examineServer(kv, later)), { ...sound, jobs: "fault" });
    const settings = { ...about.settings, secret: "the secret of another store" };
    const foreign = statesOf(await examineServer(kv, { ...about, settings }));
    assert.deepEqual(foreign, { ...sound, secret: "fault" });
  });
});

Deno.test("examineFile: finds due deliveries and what is over its time, and tells a stopped relay from one at work", async () => {
  await withFolder(async (folder) => {
    const { kv, about } = await furnish(folder, [dueKey(clock.now() - 16 * MINUTE_MS)]);
    const engine = await Deno.openKv(kv);
    await engine.set(["gone by then"], null, { expireIn: 1_000_000 });
    engine.close();
    const freeBytes = 1024 ** 4;
    const all = { ...sound, integrity: "ok", clock: "ok", disk: "ok", size: "ok", retention: "ok" };
    // The engine counts by its own clock; the hand-moved one is years ahead of it.
    const stopped = examineFile(kv, about, { served: false, freeBytes });
    assert.deepEqual(statesOf(stopped), { ...all, jobs: "note", retention: "note" });
    const atWork = examineFile(kv, about, { served: true, freeBytes });
    assert.deepEqual(statesOf(atWork), { ...all, jobs: "fault", retention: "fault" });
    const early = examineFile(kv, { ...about, nowMs: Date.now() }, { served: true, freeBytes });
    assert.deepEqual(statesOf(early), all);
  });
});

Deno.test("examineFile: a store in which no relay has run is a note, and a file that is none a fault", async () => {
  await withFolder(async (folder) => {
    const { about } = await furnish(folder);
    const around = { served: false, freeBytes: 1024 ** 4 };
    (await Deno.openKv(`${folder}/empty.kv`)).close();
    const empty = examineFile(`${folder}/empty.kv`, about, around);
    assert.deepEqual(empty.filter(({ state }) => state !== "ok").map(({ name }) => name), [
      "schema",
    ]);
    Deno.writeTextFileSync(`${folder}/text.kv`, "a text that is no database, of any length\n");
    const [finding, ...more] = examineFile(`${folder}/text.kv`, about, around);
    assert.deepEqual([finding?.state, more], ["fault", []]);
    assert.match(finding!.text, /text\.kv is no store: .*see RELAY_KV, or restore/);
  });
});
