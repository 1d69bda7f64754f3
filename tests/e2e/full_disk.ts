import { deepStrictEqual as deq, match, strictEqual as eq, throws } from "node:assert/strict";
import { addBackup } from "../../core/host/backup/keep.ts";
import { freeBytes } from "../../kv/maintenance/disk.ts";
import { clientOf, expectStatus } from "../clients/status_client.ts";
import { START_MS } from "../support/processes.ts";
import { BackedUpRelay, loadUntilGone } from "./backup_load.ts";

/**
 * Fills the small disk that is mounted at `<folder>/disk` in different moments of scheduled backups, while a relay is
 * loaded: `full_disk.ts <folder>`.
 */
const [folder] = Deno.args as [string];
const disk = `${folder}/disk`;
const filler = `${disk}/filler`;
const MIB = 1024 * 1024;
const STORE_MIB = 4;

/** Writes a file that leaves only so much of the disk. */
function fill(leftBytes: number): void {
  using file = Deno.openSync(filler, { write: true, create: true, append: true });
  const chunk = new Uint8Array(4096);
  while (freeBytes(disk) > leftBytes) file.writeSync(chunk);
}

const backed = new BackedUpRelay(folder, `${disk}/backups`);
const token = await backed.furnish(STORE_MIB);
const names = () => [...Deno.readDirSync(backed.backups)].map(({ name }) => name);

/** Starts a relay under load, whose first backup ends with this line of the log; uses it, and stops it. */
async function withLoad(line: RegExp, use: (url: string) => void | Promise<void>): Promise<void> {
  const { relay, url } = await backed.start();
  const load = loadUntilGone(url, token);
  try {
    await relay.line(line, START_MS);
    await use(url);
  } finally {
    await relay.stop();
    console.log(`${await load} changes were acknowledged`);
  }
}

await withLoad(/a scheduled backup was taken/, () => {});
const first = await backed.restoreNewest();

// There is no room from the start: nothing is written, and the relay shows why.
fill(2 * MIB);
await withLoad(/the scheduled backup failed/, async (url) => {
  const answer = await clientOf(url, token)<{ last_backup_error: string }>("GET", "/health");
  match(
    expectStatus(answer, 200, "health").last_backup_error,
    /^there is no room for a backup in /,
  );
  deq(names().length, 1);
  eq(await backed.restoreNewest(), first);
});

// The disk fills up while the copy is written.
Deno.removeSync(filler);
await withLoad(/a scheduled backup was taken/, async () => {
  const second = await backed.restoreNewest();
  const clock = Object.assign(Object.create(backed.ports.clock), {
    now: () => {
      fill(MIB);
      return Date.now();
    },
  });
  const { kv, backups, secrets } = backed;
  const add = () =>
    addBackup({ kv, folder: backups, keepMs: 1, secrets }, { ...backed.ports, clock });
  throws(add, /was not copied: database or disk is full/);
  deq(names().length, 2);
  eq(await backed.restoreNewest(), second);
});

// There is room again.
Deno.removeSync(filler);
await withLoad(/a scheduled backup was taken/, async () => {
  deq(names().length, 3);
  await backed.restoreNewest();
});
