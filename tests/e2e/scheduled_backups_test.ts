import assert from "node:assert/strict";
import { isThere } from "../../kv/maintenance/disk.ts";
import { lockBackups } from "../../kv/maintenance/open.ts";
import type { Program } from "../../core/cli/program.ts";
import { START_MS, withFolder } from "../support/processes.ts";
import { BackedUpRelay, loadUntilGone } from "./backup_load.ts";

const PROGRAM = new URL("full_disk.ts", import.meta.url).pathname;
const ROOT = new URL("../../", import.meta.url).pathname;

/** A process of a namespace of its own may mount a disk. */
const inNamespace = (script: string, ...args: string[]) =>
  new Deno.Command("unshare", {
    args: ["-rm", "sh", "-ec", script, ...args],
    cwd: ROOT,
    stdin: "null",
  });

async function mayMount(): Promise<boolean> {
  if (Deno.build.os !== "linux") return false;
  const probe = inNamespace("mount -t tmpfs none /mnt");
  return await probe.output().then(({ success }) => success, () => false);
}

Deno.test({
  name: "scheduled backups: under load, a full disk leaves the newest backup, which restores",
  ignore: !await mayMount(),
  async fn() {
    await withFolder(async (folder) => {
      Deno.mkdirSync(`${folder}/disk`);
      const script = `mount -t tmpfs -o size=24m none "$1/disk"; shift; exec "$@"`;
      const program = [Deno.execPath(), "run", "-A", "--no-check", PROGRAM, folder];
      const { code, stdout, stderr } = await inNamespace(script, "sh", folder, ...program).output();
      const text = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
      assert.equal(code, 0, text);
    });
  },
});

/** The processes that a process has started, which are its backups. */
const childrenOf = ({ pid }: Program): number[] =>
  [...Deno.readDirSync(`/proc/${pid}/task`)].flatMap(({ name }) =>
    Deno.readTextFileSync(`/proc/${pid}/task/${name}/children`).split(" ").filter(Boolean)
  ).map(Number);

/** Kills a relay when so many things have happened to its backups, and with it the backup that it writes. */
async function killAtChange(n: number, backups: string, relay: Program, withBackup: boolean) {
  const watcher = Deno.watchFs(backups);
  const taken = relay.line(/a scheduled backup was taken/, START_MS).then(() => {}, () => {});
  taken.then(() => watcher.close());
  let left = n;
  for await (const _ of watcher) {
    if (--left > 0) continue;
    const children = childrenOf(relay);
    await relay.kill();
    for (const pid of withBackup ? children : []) Deno.kill(pid, "SIGKILL");
    break;
  }
  await relay.kill();
  await taken;
}

/** Waits until no process writes a backup. */
async function untilUnlocked(kv: string): Promise<void> {
  using file = await Deno.open(`${kv}.backup-lock`, { write: true });
  await file.lock(true);
}

Deno.test({
  name:
    "scheduled backups: under load, kill -9 in the middle leaves the newest backup, which restores",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await withFolder(async (folder) => {
      const backed = new BackedUpRelay(folder, `${folder}/backups`);
      const token = await backed.furnish(8);
      const first = await backed.start();
      await first.relay.line(/a scheduled backup was taken/, START_MS);
      await first.relay.stop();
      let newest = await backed.restoreNewest(), cut = 0;
      for (const [n, withBackup] of [[1, true], [3, true], [8, true], [2, false]] as const) {
        const { relay, url } = await backed.start();
        const load = loadUntilGone(url, token);
        await killAtChange(n, backed.backups, relay, withBackup);
        await load;
        await untilUnlocked(backed.kv);
        const parts = [...Deno.readDirSync(backed.backups)].filter(({ name }) =>
          /part$/.test(name)
        );
        cut += parts.length;
        const restored = await backed.restoreNewest();
        assert.ok(restored >= newest, `${restored} is older than ${newest}`);
        newest = restored;
      }
      console.log(`${cut} of 4 backups were cut off`);

      // The next one removes what they left.
      const { relay } = await backed.start();
      await relay.line(/a scheduled backup was taken/, START_MS);
      await relay.stop();
      const left = [...Deno.readDirSync(backed.backups)].filter(({ name }) => /part$/.test(name));
      assert.deepEqual(left, []);
      assert.ok(await backed.restoreNewest() > newest);
    });
  },
});

Deno.test("relay backup: two of one store are never written at once", async () => {
  await withFolder(async (folder) => {
    const kv = `${folder}/relay.kv`;
    const first = lockBackups(kv);
    assert.throws(
      () => lockBackups(kv),
      /another backup of .*relay\.kv is being written: try again/,
    );
    first[Symbol.dispose]();
    lockBackups(kv)[Symbol.dispose]();
    assert.ok(isThere(`${kv}.backup-lock`));
  });
});
