import { dirname, resolve } from "node:path";
import type { Clock } from "../store/clock.ts";
import { isThere, makeFolder } from "./disk.ts";
import { withoutUsers } from "../engine/errors.ts";
import { migrate } from "./migrations.ts";
import { Store } from "../store/store.ts";

/** Tries to get the lock, which another process may be probing, and the pause between: one second in all. */
const [TRIES_MAX, RETRY_MS] = [50, 20];

/** A store with its lock. */
export interface OpenStore {
  readonly store: Store;
  close(): Promise<void>;
}

/**
 * Opens the store at a path, `:memory:`, or a KV Connect URL; null is the database that the hosting platform
 * attached. One process owns an embedded file; its lock ends with the process.
 * @throws {Error} when another process has the file, or the schema is newer than this program
 */
export async function openStore(location: string | null, clock: Clock): Promise<OpenStore> {
  const embedded = location !== null && !/^https?:\/\//.test(location);
  const lock = embedded && location !== ":memory:" ? await lockStore(location, clock) : null;
  try {
    const kv = lock === null ? await openOther(location) : await withAdvice(location!, openFile);
    const store = new Store(kv, { clock, sole: embedded, hasQueue: embedded, remote: !embedded });
    await migrate(store).catch(async (error) => {
      await store.close();
      throw error;
    });
    return { store, close: () => store.close().finally(() => lock?.[Symbol.dispose]()) };
  } catch (error) {
    lock?.[Symbol.dispose]();
    throw error;
  }
}

/** Opens a store in memory or of a server. */
async function openOther(location: string | null): Promise<Deno.Kv> {
  try {
    return await Deno.openKv(location ?? undefined);
  } catch (cause) {
    const why = withoutUsers((cause as Error).message);
    throw new Error(`the store cannot be opened: ${why}: see RELAY_KV and DENO_KV_ACCESS_TOKEN`);
  }
}

async function openFile(path: string): Promise<Deno.Kv> {
  const file = fileOf(path);
  // The engine would create it readable for others.
  Deno.openSync(file, { create: true, read: true, write: true, mode: 0o600 }).close();
  assertWritableFiles(file);
  return await Deno.openKv(path);
}

/** Fails when files are not writable. The engine would open them anyway and abort the process later. */
function assertWritableFiles(file: string): void {
  for (const beside of [`${file}-wal`, `${file}-shm`]) {
    if (isThere(beside)) Deno.openSync(beside, { read: true, write: true }).close();
  }
  Deno.removeSync(Deno.makeTempFileSync({ dir: dirname(file), prefix: "relay-" }));
}

/** Runs `work` on a store's files and adds advice to its error. */
async function withAdvice<R>(path: string, work: (path: string) => Promise<R>): Promise<R> {
  try {
    return await work(path);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new Error(
      `the store ${path} cannot be opened: ${why}. Check RELAY_KV and the disk of the store`,
      {
        cause,
      },
    );
  }
}

/**
 * Locks an embedded store for this process until the result is disposed.
 * @throws {Error} when another process has the store open
 */
export async function lockStore(path: string, clock: Clock): Promise<Disposable> {
  const file = await withAdvice(path, openLock);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (await file.tryLock(true)) return { [Symbol.dispose]: () => unlock(file) };
    // Only an owner's lock excludes shared ones. A probe, as in isOwned, releases its lock at once.
    if (!await file.tryLock(false)) break;
    await file.unlock();
    await clock.sleep(RETRY_MS);
  }
  file.close();
  throw new Error(
    `another Relay has the store ${path} open: stop it, give this one another RELAY_KV, ` +
      `or share one database by a KV Connect URL`,
  );
}

/**
 * Locks the backups of an embedded store for this process until the result is disposed; the lock ends with the process.
 * @throws {Error} when another process backs the store up
 */
export function lockBackups(path: string): Disposable {
  const lock = `${fileOf(path)}.backup-lock`;
  const file = Deno.openSync(lock, { create: true, write: true, mode: 0o600 });
  if (file.tryLockSync(true)) return { [Symbol.dispose]: () => unlock(file) };
  file.close();
  throw new Error(`another backup of ${path} is being written: try again when it is complete`);
}

/** Unlocks before closing, because a child process that is being started may have the file open too. */
function unlock(file: Deno.FsFile): void {
  file.unlockSync();
  file.close();
}

async function openLock(path: string): Promise<Deno.FsFile> {
  const file = fileOf(path);
  if (isThere(file) && Deno.statSync(file).isDirectory) {
    throw new Error(`it is a folder: name a file in it, such as ${file}/relay.kv`);
  }
  makeFolder(dirname(file));
  const options = { create: true, write: true, read: true, mode: 0o600 };
  return await Deno.open(lockPath(path), options);
}

/** True when a process has an embedded store open. */
export function isOwned(path: string): boolean {
  const lock = lockPath(path);
  if (!isThere(lock)) return false;
  using file = Deno.openSync(lock);
  return !file.tryLockSync(false);
}

/** The path of a store's lock, the same for every link to the store. */
const lockPath = (path: string): string => `${fileOf(path)}.lock`;

/** The path of a store's file with links resolved; the file need not exist. */
function fileOf(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    if (!isThere(path) || !Deno.lstatSync(path).isSymlink) return path;
    return fileOf(resolve(Deno.realPathSync(dirname(path)), Deno.readLinkSync(path)));
  }
}
