import assert from "node:assert/strict";
import { examineFile, examineServer } from "../../core/host/backup/examine.ts";
import { sealersOf } from "../../core/host/backup/manifest.ts";
import { INSTALLATION_KEY } from "../../core/host/backup/stored.ts";
import { nextSecretPath, secretPath } from "../../core/host/secrets/file.ts";
import { admitSecrets } from "../../core/host/secrets/installation.ts";
import { systemKey } from "../../kv/store/collection.ts";
import { newestSchema, SCHEMA_KEY } from "../../kv/maintenance/migrations.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import { deliveries } from "../../kv/records/webhook.ts";
import { ManualClock } from "../support/clock.ts";
import { withFolder } from "../support/processes.ts";
import { seededBytes } from "../support/seeded.ts";

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
  const backups = { folder: null, every_hours: 24 };
  return {
    kv,
    about: { settings: { kv, ...secrets }, backups, retentionDays, nowMs: clock.now(), entropy },
  };
}

const dueKey = (dueMs: number, webhookId = "whk_1", seq = 1) =>
  systemKey(deliveries, "due", [webhookId, dueMs, seq, "org_1", "live", "dlv_1"]) as Deno.KvKey;

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

Deno.test("examineFile: finds due deliveries and expired records, and tells a stopped relay from a running one", async () => {
  await withFolder(async (folder) => {
    const { kv, about } = await furnish(folder, [dueKey(clock.now() - 16 * MINUTE_MS)]);
    const engine = await Deno.openKv(kv);
    await engine.set(["gone by then"], null, { expireIn: 1_000_000 });
    engine.close();
    const freeBytes = 1024 ** 4;
    const file = { integrity: "ok", clock: "ok", disk: "ok", size: "ok", backup: "note" };
    const all = { ...sound, ...file, retention: "ok" };
    // The engine counts by its own clock; the hand-moved one is years ahead of it.
    const stopped = await examineFile(kv, about, { served: false, freeBytes });
    assert.deepEqual(statesOf(stopped), { ...all, jobs: "note", retention: "note" });
    const atWork = await examineFile(kv, about, { served: true, freeBytes });
    assert.deepEqual(statesOf(atWork), { ...all, jobs: "fault", retention: "fault" });
    const early = await examineFile(kv, { ...about, nowMs: Date.now() }, {
      served: true,
      freeBytes,
    });
    assert.deepEqual(statesOf(early), all);
  });
});

Deno.test("examineFile: an overdue delivery is found behind any number of those of another webhook", async () => {
  await withFolder(async (folder) => {
    const { kv, about } = await furnish(folder);
    const engine = await Deno.openKv(kv);
    for (let seq = 0; seq < 10_001;) {
      const batch = engine.atomic();
      for (let n = 0; n < 500; n++) {
        batch.set(dueKey(clock.now() + MINUTE_MS, "whk_1", seq++), null);
      }
      await batch.commit();
    }
    await engine.set(dueKey(clock.now() - 16 * MINUTE_MS, "whk_2"), null);
    engine.close();
    const found = await examineFile(kv, about, { served: true, freeBytes: 1024 ** 4 });
    const jobs = found.find(({ name }) => name === "jobs");
    assert.equal(jobs?.state, "fault");
    assert.match(jobs!.text, /^deliveries to 1 of 2 webhooks are due/);
    assert.equal(statesOf(await examineServer(kv, about)).jobs, "fault");
  });
});

Deno.test("examineFile: a relay that writes while the file is checked is no fault of the clock", async () => {
  await withFolder(async (folder) => {
    const { kv, about } = await furnish(folder);
    const nowMs = Date.now();
    Deno.utimeSync(kv, nowMs / 1000, nowMs / 1000);
    const { settings } = about;
    const slow = {
      ...settings,
      /** Asked for after the check, which took an hour. */
      get secret() {
        Deno.utimeSync(kv, nowMs / 1000 + 3_600, nowMs / 1000 + 3_600);
        return settings.secret;
      },
    };
    const around = { served: true, freeBytes: 1024 ** 4 };
    const states = statesOf(await examineFile(kv, { ...about, nowMs, settings: slow }, around));
    assert.equal(states.clock, "ok");
    assert.equal(states.secret, "ok");
    const after = statesOf(await examineFile(kv, { ...about, nowMs }, around));
    assert.equal(after.clock, "fault");
  });
});

Deno.test("examineFile: of a newer Relay's store nothing is read but its schema, and a newer Relay is asked for", async () => {
  await withFolder(async (folder) => {
    // A key that this program cannot decode.
    const unknown = [...systemKey(deliveries, "due", []), 7n] as Deno.KvKey;
    const { kv, about } = await furnish(folder, [unknown]);
    const engine = await Deno.openKv(kv);
    await engine.set(SCHEMA_KEY as Deno.KvKey, newestSchema() + 1);
    await engine.set(INSTALLATION_KEY as Deno.KvKey, new Uint8Array(1));
    engine.close();
    const found = await examineFile(kv, about, { served: true, freeBytes: 1024 ** 4 });
    const faults = found.filter(({ state }) => state === "fault");
    assert.deepEqual(faults.map(({ name }) => name), ["schema"]);
    assert.match(faults[0]!.text, /start a newer Relay/);
  });
});

Deno.test("examineFile: an unreadable path is a fault that does not suggest restoring a backup", async () => {
  await withFolder(async (folder) => {
    const { about } = await furnish(folder);
    Deno.mkdirSync(`${folder}/folder.kv`);
    const around = { served: false, freeBytes: 1024 ** 4 };
    const [finding, ...more] = await examineFile(`${folder}/folder.kv`, about, around);
    assert.deepEqual([finding?.name, finding?.state, more], ["store", "fault", []]);
    assert.match(finding!.text, /was not examined .*try again$/);
    assert.doesNotMatch(finding!.text, /restore/);
  });
});

Deno.test("examineFile: a secret that others can read is a fault, the next one too; such a store is a note", async () => {
  await withFolder(async (folder) => {
    const { kv, about } = await furnish(folder);
    const settings = { kv, secret: null, olderSecrets: [] };
    Deno.writeTextFileSync(secretPath(kv), about.settings.secret, { mode: 0o600 });
    const around = { served: false, freeBytes: 1024 ** 4 };
    const look = async () => statesOf(await examineFile(kv, { ...about, settings }, around));
    assert.equal((await look()).store, "ok");
    Deno.chmodSync(kv, 0o644);
    assert.equal((await look()).store, "note");
    Deno.writeTextFileSync(nextSecretPath(kv), "the next secret of this store");
    Deno.chmodSync(nextSecretPath(kv), 0o644);
    assert.equal((await look()).secret, "fault");
    Deno.chmodSync(nextSecretPath(kv), 0o600);
    assert.equal((await look()).secret, "ok");
  });
});

Deno.test("examineServer: hides the user, password and query of an address", async () => {
  const settings = { kv: null, secret: null, olderSecrets: [] };
  const backups = { folder: null, every_hours: 24 };
  const about = { settings, backups, retentionDays: {}, nowMs: 0, entropy };
  for (const user of ["user:password", "user:pass'word", 'user:pass"word', "user:pass word"]) {
    const [finding] = await examineServer(`http://${user}@127.0.0.1:1/db?token=t0k3n`, about);
    assert.match(finding!.text, /^http:\/\/127\.0\.0\.1:1\/db does not answer/);
    assert.doesNotMatch(finding!.text, /user:|pass|word|t0k3n/, user);
  }
});

Deno.test("examineFile: an empty store is a note, and a file that is no store is a fault", async () => {
  await withFolder(async (folder) => {
    const { about } = await furnish(folder);
    const around = { served: false, freeBytes: 1024 ** 4 };
    (await Deno.openKv(`${folder}/empty.kv`)).close();
    Deno.chmodSync(`${folder}/empty.kv`, 0o600);
    const empty = await examineFile(`${folder}/empty.kv`, about, around);
    assert.deepEqual(empty.filter(({ state }) => state !== "ok").map(({ name }) => name), [
      "schema",
    ]);
    Deno.writeTextFileSync(`${folder}/text.kv`, "a text that is no database, of any length\n");
    const [finding, ...more] = await examineFile(`${folder}/text.kv`, about, around);
    assert.deepEqual([finding?.state, more], ["fault", []]);
    assert.match(finding!.text, /text\.kv is not a store: .*see RELAY_KV, or restore/);
  });
});
