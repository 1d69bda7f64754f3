import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { writeBackup } from "../../core/host/backup/backup.ts";
import {
  encodeManifest,
  type Manifest,
  readManifest,
  sealersOf,
} from "../../core/host/backup/manifest.ts";
import { restoreBackup } from "../../core/host/backup/restore.ts";
import { SYSTEM } from "../../kv/store/collection.ts";
import { EventLog } from "../../kv/log/log.ts";
import { newestSchema } from "../../kv/maintenance/migrations.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import { installations } from "../../kv/records/installation.ts";
import { organizations } from "../../kv/records/organization.ts";
import { ManualClock } from "../support/clock.ts";
import { withFolder } from "../support/processes.ts";
import { backupPorts, EPOCH, HOST, makeStore, SECRET } from "./backup_fixtures.ts";

const PAGE_BYTES = 4096;
const OTHER = "the secret of another store";
const ports = backupPorts();
const { clock } = ports;
const secretsOf = (secret: string, olderSecrets: string[] = []) => ({ secret, olderSecrets });

/** A store with the host's organization in it, and a backup of it. */
async function furnish(folder: string): Promise<Manifest> {
  await makeStore(`${folder}/relay.kv`, ports);
  return backup(folder, SECRET);
}

const backup = (folder: string, secret: string, olderSecrets: string[] = []) =>
  writeBackup(
    {
      kv: `${folder}/relay.kv`,
      folder: `${folder}/backup`,
      secrets: secretsOf(secret, olderSecrets),
    },
    ports,
  );

const restore = (folder: string, secret = SECRET, olderSecrets: string[] = []) =>
  restoreBackup(
    {
      kv: `${folder}/new/relay.kv`,
      folder: `${folder}/backup`,
      secrets: secretsOf(secret, olderSecrets),
    },
    ports,
  );

function replaceByFolder(path: string): void {
  Deno.removeSync(path);
  Deno.mkdirSync(path);
}

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

/** What a refused restore leaves: at most the lock, whose only sense is to be there. */
function nothingMade(folder: string): void {
  try {
    assert.deepEqual(namesIn(`${folder}/new`).filter((name) => name !== "relay.kv.lock"), []);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

Deno.test("restoreBackup: the store is complete, its logs begin a new epoch, and the host's trail records it", async () => {
  await withFolder(async (folder) => {
    const manifest = await furnish(folder);
    assert.deepEqual(namesIn(`${folder}/backup`), ["manifest.json", "relay.kv"]);
    assert.equal(manifest.taken_at, new Date(clock.now()).toISOString());
    assert.deepEqual(await restore(folder), manifest);
    assert.deepEqual(namesIn(`${folder}/new`), ["relay.kv", "relay.kv.lock"]);
    const { store, close } = await openStore(`${folder}/new/relay.kv`, clock);
    try {
      assert.equal((await store.get(organizations, SYSTEM, HOST.org))?.name, "Host");
      const installation = await store.get(installations, SYSTEM, "installation");
      assert.deepEqual(installation?.secret_fingerprints, manifest.secret_fingerprints);
      assert.equal(manifest.epoch, EPOCH);
      assert.match(installation!.epoch, /^e_\w+$/);
      assert.notEqual(installation!.epoch, EPOCH);
      const log = new EventLog(store, (error) => assert.fail(String(error)));
      await log.flush();
      const [event, ...more] = await log.read(HOST, 0, 10);
      await log.stop();
      assert.deepEqual([event?.type, more.length], ["backup_restored", 0]);
      const { details } = JSON.parse(event!.json);
      const { taken_at, versionstamp, sha256 } = manifest;
      assert.deepEqual(details, { taken_at, versionstamp, sha256 });
    } finally {
      await close();
    }
  });
});

Deno.test("restoreBackup: refuses incomplete or altered backups, and those of another secret or a newer Relay, and makes nothing", async () => {
  await withFolder(async (folder) => {
    const manifest = await furnish(folder);
    const [store, about] = [`${folder}/backup/relay.kv`, `${folder}/backup/manifest.json`];
    const [bytes, text] = [Deno.readFileSync(store), Deno.readTextFileSync(about)];
    const [signer] = sealersOf(secretsOf(SECRET), ports.entropy);
    const [stranger] = sealersOf(secretsOf(OTHER), ports.entropy);
    const altered = (at: number) => bytes.with(at, bytes[at]! ^ 1);
    const signed = (change: object) =>
      encodeManifest({ ...manifest, ...change } as Manifest, signer!);
    const cases: [what: string, make: () => void, sentence: RegExp][] = [
      [
        "no byte",
        () => Deno.writeFileSync(store, new Uint8Array()),
        /has the wrong size: .* has 0 bytes/,
      ],
      ["cut", () => Deno.writeFileSync(store, bytes.subarray(0, -1)), /has the wrong size: /],
      [
        "a page less",
        () => Deno.writeFileSync(store, bytes.subarray(4096)),
        /has the wrong size: /,
      ],
      [
        "longer",
        () => Deno.writeFileSync(store, new Uint8Array([...bytes, 0])),
        /has the wrong size: /,
      ],
      [
        "no store",
        () => Deno.removeSync(store),
        /is not a complete backup: it has no file relay\.kv/,
      ],
      ["first byte", () => Deno.writeFileSync(store, altered(0)), /was altered: relay\.kv/],
      ["last byte", () => Deno.writeFileSync(store, altered(bytes.length - 1)), /was altered: /],
      [
        "no manifest",
        () => Deno.removeSync(about),
        /is not a complete backup: it has no file manifest\.json/,
      ],
      [
        "a folder",
        () => replaceByFolder(store),
        /is not a complete backup: it has no file relay\.kv/,
      ],
      ["a folder as manifest", () => replaceByFolder(about), /it has no file manifest\.json/],
      ["cut manifest", () => Deno.writeTextFileSync(about, text.slice(0, -9)), /is damaged/],
      ["huge manifest", () => Deno.writeTextFileSync(about, " ".repeat(99_999)), /too large/],
      [
        "another instant",
        () => Deno.writeTextFileSync(about, text.replace(/"20\d\d/, '"2031')),
        /the manifest of .* was altered/,
      ],
      [
        "signed by somebody else",
        () => Deno.writeTextFileSync(about, encodeManifest(manifest, stranger!)),
        /the manifest of .* was altered/,
      ],
      [
        "sealed by somebody else",
        () => {
          const secret_fingerprints = [stranger!.fingerprint()];
          const theirs = encodeManifest({ ...manifest, secret_fingerprints }, stranger!);
          Deno.writeTextFileSync(about, theirs);
        },
        /was sealed with another secret: give that one in RELAY_SECRET/,
      ],
      [
        "a newer schema",
        () => Deno.writeTextFileSync(about, signed({ schema: newestSchema() + 1 })),
        /has schema \d+, this program knows \d+: start a newer Relay/,
      ],
      [
        "a newer format",
        () => Deno.writeTextFileSync(about, signed({ format: 2, more: true })),
        /has the format 2: start a newer Relay/,
      ],
    ];
    for (const [what, make, sentence] of cases) {
      Deno.removeSync(`${folder}/backup`, { recursive: true });
      Deno.mkdirSync(`${folder}/backup`);
      Deno.writeFileSync(store, bytes);
      Deno.writeTextFileSync(about, text);
      make();
      await assert.rejects(restore(folder), sentence, what);
      nothingMade(folder);
    }
    Deno.writeFileSync(store, bytes);
    Deno.writeTextFileSync(about, text);
    await assert.rejects(restore(folder, OTHER), /was sealed with another secret/);
    nothingMade(folder);
    assert.deepEqual(await restore(folder), manifest, "the untouched one is taken");
  });
});

Deno.test("restoreBackup: refuses a truncated backup or an unfinished file before anything is made", async () => {
  await withFolder(async (folder) => {
    await furnish(folder);
    for (const name of ["relay.kv", "manifest.json"]) {
      Deno.truncateSync(`${folder}/backup/${name}`, 1);
      await assert.rejects(restore(folder), /(has the wrong size|is damaged): /);
      Deno.removeSync(`${folder}/backup/${name}`);
      // Opening it would wait for somebody who writes into it.
      const made = await new Deno.Command("mkfifo", { args: [`${folder}/backup/${name}`] })
        .output();
      assert.ok(made.success);
      await assert.rejects(restore(folder), /is not a complete backup: it has no file/);
      assert.deepEqual(namesIn(folder), ["backup", "relay.kv", "relay.kv.lock"]);
    }
  });
});

Deno.test("restoreBackup: leaves an existing store as it is, also when only its log exists", async () => {
  await withFolder(async (folder) => {
    await furnish(folder);
    Deno.mkdirSync(`${folder}/new`);
    for (const name of ["relay.kv", "relay.kv-wal", "relay.kv-shm"]) {
      Deno.writeTextFileSync(`${folder}/new/${name}`, "somebody's");
      await assert.rejects(restore(folder), /exists: give the path of a new store/);
      assert.deepEqual(namesIn(`${folder}/new`).filter((each) => each !== "relay.kv.lock"), [name]);
      assert.equal(Deno.readTextFileSync(`${folder}/new/${name}`), "somebody's");
      Deno.removeSync(`${folder}/new/${name}`);
    }
    await restore(folder);
    await assert.rejects(restore(folder), /exists: give the path of a new store/);
  });
});

Deno.test("restoreBackup: leftovers of an interrupted restore do not block the next one", async () => {
  await withFolder(async (folder) => {
    await furnish(folder);
    Deno.mkdirSync(`${folder}/new`);
    for (const end of ["", "-wal", "-shm", ".lock"]) {
      Deno.writeTextFileSync(`${folder}/new/relay.kv.restoring${end}`, "half of it");
    }
    await restore(folder);
    assert.deepEqual(namesIn(`${folder}/new`), ["relay.kv", "relay.kv.lock"]);
  });
});

Deno.test("restoreBackup: a backup made before a rotation needs the secret of that time", async () => {
  await withFolder(async (folder) => {
    const manifest = await furnish(folder);
    assert.deepEqual(await restore(folder, OTHER, [SECRET]), manifest);
  });
});

Deno.test("writeBackup: refused without a store's secret, for a taken folder and an empty store; nothing is left", async () => {
  await withFolder(async (folder) => {
    await furnish(folder);
    const before = Deno.readFileSync(`${folder}/backup/relay.kv`);
    assert.throws(() => backup(folder, SECRET), /backup exists already: name a new folder/);
    assert.deepEqual(Deno.readFileSync(`${folder}/backup/relay.kv`), before);
    Deno.removeSync(`${folder}/backup`, { recursive: true });
    assert.throws(() => backup(folder, OTHER), /was sealed with another secret/);
    Deno.mkdirSync(`${folder}/backup.part`);
    assert.throws(() => backup(folder, SECRET), /backup\.part exists: another backup is being/);
    Deno.removeSync(`${folder}/backup.part`);
    assert.deepEqual(namesIn(folder), ["relay.kv", "relay.kv.lock"]);
    (await Deno.openKv(`${folder}/empty.kv`)).close();
    assert.throws(
      () =>
        writeBackup({
          kv: `${folder}/empty.kv`,
          folder: `${folder}/backup`,
          secrets: secretsOf(SECRET),
        }, ports),
      /there is nothing in .*empty\.kv yet/,
    );
    assert.deepEqual(namesIn(folder).filter((name) => name.startsWith("backup")), []);
  });
});

/** Makes the only index of a small store's rows one of no rows. */
function emptyIndex(path: string): void {
  using database = new DatabaseSync(path);
  const sql = "SELECT rootpage FROM sqlite_master WHERE name = 'kv_expiration_ms_idx'";
  const { rootpage } = database.prepare(sql).get() as { rootpage: number };
  const bytes = Deno.readFileSync(path);
  const page = new DataView(bytes.buffer, (rootpage - 1) * PAGE_BYTES, PAGE_BYTES);
  assert.equal(page.getUint8(0), 10, "the index is one leaf");
  page.setUint16(3, 0); // entries
  page.setUint16(5, PAGE_BYTES); // where they begin
  Deno.writeFileSync(path, bytes);
}

Deno.test("writeBackup: does not copy a store whose index contradicts its rows, although the copy would be sound", async () => {
  await withFolder(async (folder) => {
    await furnish(folder);
    Deno.removeSync(`${folder}/backup`, { recursive: true });
    emptyIndex(`${folder}/relay.kv`);
    assert.throws(
      () => backup(folder, SECRET),
      /was not copied: it is damaged: .*index/,
    );
    assert.deepEqual(namesIn(folder).filter((name) => name.startsWith("backup")), []);
  });
});

Deno.test("writeBackup: throws the first error, also when the clean-up fails", async () => {
  await withFolder(async (folder) => {
    await furnish(folder);
    Deno.removeSync(`${folder}/backup`, { recursive: true });
    const cut = new ManualClock();
    cut.now = () => {
      Deno.removeSync(`${folder}/backup.part`);
      return 0;
    };
    const about = {
      kv: `${folder}/relay.kv`,
      folder: `${folder}/backup`,
      secrets: secretsOf(SECRET),
    };
    assert.throws(
      () => writeBackup(about, { ...ports, clock: cut }),
      /relay\.kv was not copied: /,
    );
  });
});

Deno.test("readManifest: returns a signed manifest unchanged", async () => {
  await withFolder(async (folder) => {
    const manifest = await furnish(folder);
    const sealers = sealersOf(secretsOf(SECRET), ports.entropy);
    assert.deepEqual(readManifest(`${folder}/backup`, sealers), manifest);
    assert.equal(Deno.statSync(`${folder}/backup`).mode! & 0o777, 0o700);
    for (const name of namesIn(`${folder}/backup`)) {
      assert.equal(Deno.statSync(`${folder}/backup/${name}`).mode! & 0o777, 0o600, name);
    }
  });
});
