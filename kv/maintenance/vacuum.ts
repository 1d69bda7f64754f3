import { DatabaseSync } from "node:sqlite";

/** How long to wait for the file's lock. */
export const BUSY_MS = 10_000;

/**
 * Rewrites an embedded store's file: it becomes as small as possible, and no byte of overwritten or deleted
 * data remains. No other process may have it open. Its data is written twice on the way: into SQLite's
 * temporary folder, and into the write-ahead log.
 * @throws {Error} when another process has it open
 */
export function vacuum(path: string): void {
  using database = open(path);
  runVacuum(database);
  checkpoint(database, path);
}

/**
 * Moves everything that was committed from the write-ahead log into an embedded store's file.
 * @throws {Error} when another process has it open
 */
export function settleFile(path: string): void {
  using database = open(path);
  checkpoint(database, path);
}

/**
 * Rewrites an open database, in place or into a new file.
 * @throws {Error} when it fails; the runtime allows it only with all permissions
 */
export function runVacuum(database: DatabaseSync, into: string | null = null): void {
  try {
    if (into === null) database.exec("VACUUM");
    else database.prepare("VACUUM INTO ?").run(into);
  } catch (cause) {
    const { message } = cause as Error;
    if (!message.startsWith("too many attached databases")) throw cause;
    throw new Error("this program lacks permissions: start it with `deno run -A`", { cause });
  }
}

/** Moves the write-ahead log into the file and empties it. */
function checkpoint(database: DatabaseSync, path: string): void {
  const { busy } = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number };
  if (busy !== 0) throw new Error(`another process has ${path} open: stop it and try again`);
}

function open(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  return database;
}
