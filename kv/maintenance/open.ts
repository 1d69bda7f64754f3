import { dirname, resolve } from "node:path";
import type { Clock } from "../store/clock.ts";
import { isThere, makeFolder } from "./disk.ts";
import { withoutUsers } from "../store/errors.ts";
import { migrate } from "./migrations.ts";
import { Store } from "../store/store.ts";

/** How often, and how long apart, a lock is tried that somebody only looks at: for a second. */
const [LOOKS_MAX, LOOK_MS] = [50, 20];

/** A store and what must be let go with it. */
export interface OpenStore {
  readonly store: Store;
  close(): Promise<void>;
}

/**
 * Opens the store at a path, `:memory:`, a KV Connect URL, or, with `null`, the database that the
 * hosting platform attached. One process owns an embedded file: the lock dies with the process.
 * @throws {Error} when another process has the file, or the schema is newer than this program
 */
export async function openStore(location: string | null, clock: Clock): Promise<OpenStore> {
  const embedded = location !== null && !/^https?:\/\//.test(location);
  const lock = embedded && location !== ":memory:" ? await lockStore(location, clock) : null;
  try {
    const kv = lock === null ? await openOther(location) : await orTell(location!, openFile);
    const store = new Store(kv, { clock, sole: embedded, hasQueue: embedded });
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

/** A store in memory or of a server. */
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
  // The engine would let others read it.
  Deno.openSync(file, { create: true, read: true, write: true, mode: 0o600 }).close();
  mustTakeFiles(file);
  return await Deno.openKv(path);
}

/** The engine opens for reading what it may not write, and soon breaks the process off. */
function mustTakeFiles(file: string): void {
  for (const beside of [`${file}-wal`, `${file}-shm`]) {
    if (isThere(beside)) Deno.openSync(beside, { read: true, write: true }).close();
  }
  Deno.removeSync(Deno.makeTempFileSync({ dir: dirname(file), prefix: "relay-" }));
}

/** Does something with a store's files; what the system or the engine has against it is told with what to do. */
async function orTell<R>(path: string, work: (path: string) => Promise<R>): Promise<R> {
  try {
    return await work(path);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new Error(`the store ${path} cannot be opened: ${why}. See RELAY_KV and its disk`, {
      cause,
    });
  }
}

/**
 * Takes an embedded store for this process, until what it answers is disposed of.
 * @throws {Error} when another process has it
 */
export async function lockStore(path: string, clock: Clock): Promise<Disposable> {
  const file = await orTell(path, openLock);
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    if (await file.tryLock(true)) return { [Symbol.dispose]: () => unlock(file) };
    // Only an owner keeps others from sharing the lock; who looks, as isOwned does, lets go at once.
    if (!await file.tryLock(false)) break;
    await file.unlock();
    await clock.sleep(LOOK_MS);
  }
  file.close();
  throw new Error(
    `another Relay has the store ${path} open: stop it, give this one another RELAY_KV, ` +
      `or share one database by a KV Connect URL`,
  );
}

/** Not by closing alone: a child process that is just being started has the file open too. */
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

/** Whether a process has an embedded store open. */
export function isOwned(path: string): boolean {
  const lock = lockPath(path);
  if (!isThere(lock)) return false;
  using file = Deno.openSync(lock);
  return !file.tryLockSync(false);
}

/** A store has one lock by whatever link it is reached. */
const lockPath = (path: string): string => `${fileOf(path)}.lock`;

/** Where a store's file is, or will be when it is made. */
function fileOf(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    if (!isThere(path) || !Deno.lstatSync(path).isSymlink) return path;
    return fileOf(resolve(Deno.realPathSync(dirname(path)), Deno.readLinkSync(path)));
  }
}
