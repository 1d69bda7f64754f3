import { deepStrictEqual as deq, match, strictEqual as eq, throws } from "node:assert/strict";
import { noteBackup } from "../../core/host/backup/last_backup.ts";
import { type Manifest, MANIFEST_FILE, STORE_FILE } from "../../core/host/backup/manifest.ts";
import { readSettings } from "../../core/context/settings.ts";
import { isBackupDue, ScheduledBackups } from "../../core/host/backup/schedule.ts";
import { ManualClock } from "../support/clock.ts";
import { withFolder } from "../support/processes.ts";
import { World } from "../support/world.ts";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const NOW = Date.UTC(2030, 0, 1);

/** Writes into a folder what a backup of that time consists of, as far as a schedule reads it. */
function putBackup(folder: string, epoch: string, takenMs: number, commit: number): void {
  const taken_at = new Date(takenMs).toISOString();
  const manifest: Manifest = {
    format: 1,
    relay: "1.0.0",
    schema: 1,
    secret_fingerprints: ["a"],
    epoch,
    taken_at,
    versionstamp: String(commit).padStart(20, "0"),
    bytes: 1,
    sha256: "0".repeat(64),
  };
  const path = `${folder}/relay-${taken_at.replaceAll(":", "")}`;
  Deno.mkdirSync(path, { recursive: true });
  Deno.writeTextFileSync(`${path}/${MANIFEST_FILE}`, JSON.stringify({ ...manifest, mac: "" }));
  Deno.writeTextFileSync(`${path}/${STORE_FILE}`, "x");
}

Deno.test("isBackupDue: a day after the newest one, after a pause when one failed, and when the clock was ahead", () => {
  const due = (newestMs: number | null, ago?: number, error: string | null = null) =>
    isBackupDue(newestMs, ago === undefined ? null : { startedMs: NOW - ago, error }, DAY, NOW);
  eq(due(null), true, "the first one");
  eq(due(NOW - DAY + 1), false);
  eq(due(NOW - DAY), true);
  eq(due(NOW + HOUR), false, "the clock was set back by less than a day");
  eq(due(NOW + 400 * DAY), true, "the clock was a year ahead");
  eq(due(NOW - DAY, 9 * MINUTE, "no room"), false);
  eq(due(NOW - DAY, 10 * MINUTE, "no room"), true);
  eq(due(NOW - DAY, -400 * DAY, "no room"), true);
  eq(due(null, HOUR), false, "it succeeded, but the folder does not show it");
  eq(due(null, DAY), true);
});

Deno.test("ScheduledBackups: at the start and then once a day; a failure is shown and tried again after ten minutes", async () => {
  await withFolder(async (folder) => {
    const kv = `${folder}/relay.kv`, backups = `${folder}/backups`;
    const started: string[] = [];
    const fails = new Set([1, 2]);
    let noted = (): void => {};
    await using world = await World.open({
      sole: true,
      settings: { kv },
      config: { backups: { folder: backups, keep_days: 3 } },
      storeBackups: {
        add(folder, keepMs) {
          started.push(`${folder === backups} ${keepMs / DAY}`);
          if (fails.has(started.length)) return Promise.reject(new Error("there is no room"));
          return Promise.resolve(noted());
        },
      },
    });
    noted = () => putBackup(backups, world.app.epoch, world.clock.now(), started.length);
    const { token } = await world.signUp();
    const shown = async () => {
      const { body } = await world.call("GET", "/health", { as: token });
      const { text } = await world.call("GET", "/metrics", { as: token });
      const counts = text.matchAll(/^relay_backup_attempts_total\{result="(\w+)"\} (\d+)$/gm);
      return [body.last_backup_error, Object.fromEntries([...counts].map((c) => c.slice(1)))];
    };
    await world.settle();
    deq(started, ["true 3"]);
    deq(await shown(), ["there is no room", { succeeded: "0", failed: "1" }]);
    const logged = world.logged.find(({ message }) => message === "the scheduled backup failed");
    eq(logged?.level, "error");
    match(JSON.stringify(logged?.fields), /there is no room/);
    await world.advance(9 * MINUTE);
    eq(started.length, 1);
    await world.advance(MINUTE);
    eq(started.length, 2);
    await world.advance(10 * MINUTE);
    eq(started.length, 3);
    deq(await shown(), [null, { succeeded: "1", failed: "2" }]);
    const pass = async (ms: number) => {
      world.clock.nowMs += ms;
      await world.running.housekeep();
      await world.settle();
      return started.length;
    };
    eq(await pass(DAY - 1), 3);
    eq(await pass(1), 4);
    eq(await pass(400 * DAY), 5, "the clock is a year ahead");
    eq(await pass(-400 * DAY), 6, "and is set right again");
    eq(await pass(HOUR), 6);
  });
});

Deno.test("ScheduledBackups: only a backup of this store in the folder counts, also one from before a restart", async () => {
  await withFolder((folder) => {
    const kv = `${folder}/relay.kv`, backups = `${folder}/backups`;
    const clock = new ManualClock();
    const isTaken = (at = backups) => {
      let started = 0;
      new ScheduledBackups({
        ports: {
          clock,
          log: { info: () => {}, error: () => {} },
          storeBackups: { add: () => Promise.resolve(void started++) },
        },
        config: () => ({ backups: { folder: at, every_hours: 24, keep_days: 1 } }),
        settings: { kv },
        epoch: "e_first",
        background: { run: (_, task) => void task() },
        metrics: { backup: () => {} },
      }).sweep();
      return started === 1;
    };
    const taken_at = new Date(clock.now()).toISOString();
    noteBackup(kv, { taken_at, epoch: "e_first" } as Manifest);
    eq(isTaken(), true, "one was taken elsewhere");
    putBackup(backups, "e_other", clock.now(), 9);
    eq(isTaken(), true, "the folder has one of another store");
    putBackup(backups, "e_first", clock.now() - DAY, 1);
    eq(isTaken(), true, "the folder has one of the day before");
    putBackup(backups, "e_first", clock.now() - HOUR, 2);
    eq(isTaken(), false);
    eq(isTaken(kv + ".last-backup"), true, "a folder that cannot be read: the attempt says why");
    return Promise.resolve();
  });
});

Deno.test("ScheduledBackups: one at a time, and a stop ends it without counting a failure", async () => {
  await withFolder(async (folder) => {
    const clock = new ManualClock();
    const tasks: Promise<void>[] = [], told: string[] = [];
    let started = 0;
    const schedule = (kv: string | null) =>
      new ScheduledBackups({
        ports: {
          clock,
          log: { info: (text) => told.push(text), error: (text) => told.push(text) },
          storeBackups: {
            add: (_folder, _keepMs, signal) =>
              new Promise((_, reject) => {
                started++;
                signal.addEventListener("abort", () => reject(new Error("it was killed")));
              }),
          },
        },
        config: () => ({ backups: { folder: "/backup", every_hours: 1, keep_days: 1 } }),
        settings: { kv },
        epoch: "e_first",
        background: { run: (_, task) => void tasks.push(task()) },
        metrics: { backup: (result) => told.push(result) },
      });
    const backups = schedule(`${folder}/relay.kv`);
    backups.sweep();
    clock.nowMs += DAY;
    backups.sweep();
    eq(started, 1);
    backups.stop();
    await Promise.all(tasks);
    deq([backups.error, told], [null, []]);
    for (const kv of [null, ":memory:", "https://kv.example.com"]) schedule(kv).sweep();
    eq(started, 1, "a store that relay backup does not copy");
  });
});

Deno.test("readSettings: backups of a store that is no file are refused", () => {
  const env = {
    RELAY_SECRET: "a secret of enough characters",
    RELAY_CONFIG: JSON.stringify({ backups: { folder: "/backup" } }),
  };
  const read = (RELAY_KV: string) => readSettings({ ...env, RELAY_KV }, () => "", false);
  eq(read("/var/lib/relay.kv").config.backups.folder, "/backup");
  for (const kv of [":memory:", "https://kv.example.com"]) {
    throws(() => read(kv), /backups\.folder, but RELAY_KV names no file: /);
  }
});
