import { DatabaseSync } from "node:sqlite";

/** How long to wait for a moment in which nobody has the file, or its lock. */
export const BUSY_MS = 10_000;

/**
 * Writes an embedded store's file anew: what was overwritten or deleted is in no byte of it any more, and the
 * file is as small as it can be. It may be open here, and by nobody else. What is kept is written twice
 * meanwhile: into SQLite's folder for temporary files, and into the log beside the file.
 * @throws {Error} when somebody else has it
 */
export function vacuum(path: string): void {
  using database = open(path);
  runVacuum(database);
  checkpoint(database, path);
}

/**
 * Moves everything that was committed into an embedded store's file itself: nothing beside it is needed.
 * @throws {Error} when somebody else has it
 */
export function settleFile(path: string): void {
  using database = open(path);
  checkpoint(database, path);
}

/**
 * Writes an open database anew, in its place or into a new file.
 * @throws {Error} when it fails; the runtime allows it only to a program that may do everything
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

/** The engine's log goes into the file, and is empty then. */
function checkpoint(database: DatabaseSync, path: string): void {
  const { busy } = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number };
  if (busy !== 0) throw new Error(`somebody else has ${path} open: try again without them`);
}

function open(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  return database;
}
