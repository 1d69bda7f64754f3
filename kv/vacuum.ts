import { DatabaseSync } from "node:sqlite";

/**
 * Writes an embedded store's file anew: what was overwritten or deleted is in no byte of it any more, and the
 * file is as small as it can be. It may be open here, and by nobody else; it needs its own size in free space.
 */
export function vacuum(path: string): void {
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA busy_timeout = 10000");
    database.exec("VACUUM");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
}
