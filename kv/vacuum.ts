import { DatabaseSync } from "node:sqlite";

/**
 * Writes an embedded store's file anew: what was overwritten or deleted is in no byte of it any more, and the
 * file is as small as it can be. It may be open here, and by nobody else; it needs its own size in free space.
 */
export function vacuum(path: string): void {
  run(path, ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"]);
}

/** Moves everything that was committed into an embedded store's file itself: nothing beside it is needed. */
export function settleFile(path: string): void {
  run(path, ["PRAGMA wal_checkpoint(TRUNCATE)"]);
}

function run(path: string, statements: readonly string[]): void {
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA busy_timeout = 10000");
    for (const statement of statements) database.exec(statement);
  } finally {
    database.close();
  }
}
