import { deepStrictEqual as deq, ok, strictEqual as eq, throws } from "node:assert/strict";
import { checkBackup } from "../../core/host/backup/check.ts";
import { addBackup, newestAdded } from "../../core/host/backup/keep.ts";
import { sealersOf } from "../../core/host/backup/manifest.ts";
import { restoreBackup } from "../../core/host/backup/restore.ts";
import { withFolder } from "../support/processes.ts";
import { mulberry32 } from "../support/random.ts";
import { backupPorts, EPOCH, makeStore, SECRET } from "./backup_fixtures.ts";

const DAY = 86_400_000;
const KEEP_MS = 7 * DAY;
const secrets = { secret: SECRET, olderSecrets: [] };
const STEPS = 40;

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

/** A store, and what adds backups of it to a folder. */
async function furnish(folder: string) {
  const ports = backupPorts();
  const kv = `${folder}/relay.kv`, backups = `${folder}/backups`;
  await makeStore(kv, ports);
  const add = (over: Partial<typeof ports> = {}) =>
    addBackup({ kv, folder: backups, keepMs: KEEP_MS, secrets }, { ...ports, ...over });
  return { kv, backups, ports, add, sealers: sealersOf(secrets, ports.entropy) };
}

Deno.test("addBackup: removes only its own store's backups that are older than asked", async () => {
  await withFolder(async (folder) => {
    const { kv, backups, ports, add } = await furnish(folder);
    const names = [];
    for (let day = 0; day < 10; day++) {
      const { path, removed, unremoved } = add();
      names.push(path.slice(backups.length + 1));
      deq([removed, unremoved], [day < 7 ? 0 : 1, null]);
      deq(namesIn(backups), names.slice(-7));
      ports.clock.nowMs += DAY;
    }
    eq(names[0], "relay-2030-01-01T000000.000Z");

    // A renamed backup, one with a note in it, another store's, and whatever else is there stays.
    ports.clock.nowMs += 30 * DAY;
    const [renamed, noted, cut, ...old] = names.slice(-7);
    Deno.renameSync(`${backups}/${renamed}`, `${backups}/before-the-move`);
    Deno.writeTextFileSync(`${backups}/${noted}/note.txt`, "keep");
    Deno.truncateSync(`${backups}/${cut}/manifest.json`, 9);
    Deno.writeTextFileSync(`${backups}/relay-2029-01-01T000000.000Z`, "a file");
    Deno.symlinkSync(`${backups}/before-the-move`, `${backups}/relay-2029-01-02T000000.000Z`);
    const other = `${folder}/other.kv`;
    const theirs = addBackup(
      { kv, folder: `${folder}/elsewhere`, keepMs: KEEP_MS, secrets },
      ports,
    );
    await restoreBackup({ kv: other, folder: theirs.path, secrets }, ports);
    addBackup({ kv: other, folder: backups, keepMs: KEEP_MS, secrets }, ports);
    const before = namesIn(backups);
    ports.clock.nowMs += 30 * DAY;
    const { path, removed } = add();
    eq(removed, old.length);
    const left = [...before.filter((name) => !old.includes(name)), path.slice(backups.length + 1)];
    deq(namesIn(backups), left.sort());
  });
});

Deno.test("addBackup: one that fails removes nothing, and says why", async () => {
  await withFolder(async (folder) => {
    const { backups, ports, add } = await furnish(folder);
    add();
    const before = namesIn(backups);
    ports.clock.nowMs += 30 * DAY;
    const full = backupPorts();
    full.clock.now = () => {
      throw new Error("database or disk is full");
    };
    throws(() => add(full), /was not copied: database or disk is full/);
    deq(namesIn(backups), before);
    eq(add().removed, 1);
  });
});

Deno.test("addBackup: the newest kept backup always restores, whatever fails, is killed or happens to the clock", async () => {
  await withFolder(async (folder) => {
    const { kv, backups, ports, add, sealers } = await furnish(folder);
    const unit = mulberry32(11);
    let newest: string | null = null,
      kept: { path: string; atMs: number }[] = [],
      restored = 0,
      most = 0;
    const change = async (n: number) => {
      const engine = await Deno.openKv(kv);
      await engine.set(["weight", n], n);
      engine.close();
    };
    for (let step = 0; step < STEPS; step++) {
      await change(step);
      const roll = unit();
      // The clock goes on, jumps a year ahead, or is set back.
      ports.clock.nowMs += roll < 0.8 ? unit() * 2 * DAY : roll < 0.9 ? 400 * DAY : -400 * DAY;
      ports.clock.nowMs = Math.round(ports.clock.nowMs);
      const fate = unit();
      if (fate < 0.2) {
        const clock = Object.assign(Object.create(ports.clock), {
          now: () => {
            throw new Error("database or disk is full");
          },
        });
        throws(() => add({ clock }));
      } else {
        // A kill leaves an unfinished copy, or what was being removed.
        if (fate < 0.4) {
          Deno.mkdirSync(`${backups}/${EPOCH}.part`, { recursive: true });
          Deno.writeTextFileSync(`${backups}/${EPOCH}.part/relay.kv`, "half of it");
        }
        const { path, manifest, unremoved } = add();
        eq(unremoved, null);
        newest = path;
        const nowMs = Date.parse(manifest.taken_at);
        kept = [
          ...kept.filter(({ atMs }) => Math.abs(nowMs - atMs) < KEEP_MS),
          { path, atMs: nowMs },
        ];
      }
      if (newest === null) continue;
      most = Math.max(most, kept.length);
      deq(namesIn(backups).map((name) => `${backups}/${name}`), kept.map((k) => k.path).sort());
      eq(newestAdded(backups, EPOCH), newest, `step ${step}`);
      for (const { path } of kept) checkBackup(path, sealers);
      const to = `${folder}/restored-${step}.kv`;
      await restoreBackup({ kv: to, folder: newest, secrets }, ports);
      restored++;
    }
    ok(restored > STEPS / 2);
    ok(most > 3);
  });
});

Deno.test("addBackup: no part of a backup has its name before it is complete", async () => {
  await withFolder(async (folder) => {
    const { backups, ports, add } = await furnish(folder);
    const seen: string[][] = [];
    const clock = Object.assign(Object.create(ports.clock), {
      now: () => {
        seen.push(namesIn(backups));
        return ports.clock.nowMs;
      },
    });
    add({ clock });
    deq(seen, [[`${EPOCH}.part`]]);
  });
});
