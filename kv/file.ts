import { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import type { KeyParts } from "./collection.ts";
import { decodeKey, encodeKey } from "./file_key.ts";
import { runVacuum } from "./vacuum.ts";

/** How the engine's file marks a value that is neither bytes nor a counter. */
const STRUCTURED = 1;
/** How long to wait for a moment in which the engine holds no lock. */
const BUSY_MS = 10_000;
const FAULTS_MAX = 10;
/** What the engine appends to a commit's number to make a versionstamp. */
const VERSIONSTAMP_TAIL = "0000";

/** How large a file is, and how much of it holds nothing. */
export interface FileSize {
  readonly bytes: number;
  readonly freeBytes: number;
}

/** An embedded store's file, read beside the engine: it may be open elsewhere and be written meanwhile. */
export interface StoreFile {
  /** The value of a key, or null. @throws {TypeError} for bytes and counters */
  get(key: KeyParts): unknown;
  /** Keys under a prefix, in order, without the prefix. */
  keys(prefix: KeyParts, limit: number): KeyParts[];
  /** How many rows should have gone before an instant in ms, up to `limit`. */
  expiredBefore(ms: number, limit: number): number;
  /** The versionstamp of the newest commit. */
  versionstamp(): string;
  /** What is wrong with the file, an empty list for nothing. Reads all of it. */
  faults(): string[];
  size(): FileSize;
  /** Writes what is committed now into a new file, without what was deleted; writers go on meanwhile. */
  copyInto(path: string): void;
  close(): void;
}

interface Row {
  readonly v: Uint8Array;
  readonly v_encoding: number;
}

/**
 * Opens an embedded store's file beside the engine, to read it.
 * @throws {Error} when it is no database, or not one that the engine made
 */
export function openFile(path: string): StoreFile {
  Deno.statSync(path); // what is not there would be made
  // Not opened read-only: the last one to close must be able to tidy up the log beside the file.
  const database = new DatabaseSync(path);
  const one = <T>(sql: string, ...values: (Uint8Array | number)[]) =>
    database.prepare(sql).get(...values) as T | undefined;
  const number = (name: string) => Number(Object.values(one<object>(`PRAGMA ${name}`)!)[0]);
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    if (one("SELECT 1 FROM sqlite_master WHERE name = 'data_version'") === undefined) {
      throw new Error("it has no data of a store");
    }
  } catch (error) {
    database.close();
    throw new Error(`${path} is no store: ${(error as Error).message}`, { cause: error });
  }
  return {
    get(key) {
      const row = one<Row>("SELECT v, v_encoding FROM kv WHERE k = ?", encodeKey(key));
      if (row === undefined) return null;
      if (row.v_encoding !== STRUCTURED) throw new TypeError("the value is not a structured one");
      return deserialize(row.v);
    },
    keys(prefix, limit) {
      const start = encodeKey(prefix);
      const rows = database.prepare(
        "SELECT k FROM kv WHERE k > ? AND k < ? ORDER BY k LIMIT ?",
      ).all(start, behind(start), limit) as { k: Uint8Array }[];
      return rows.map(({ k }) => decodeKey(k.subarray(start.length)));
    },
    expiredBefore(ms, limit) {
      const sql = "SELECT count(*) AS n FROM " +
        "(SELECT 1 FROM kv WHERE expiration_ms > 0 AND expiration_ms < ? LIMIT ?)";
      return one<{ n: number }>(sql, ms, limit)!.n;
    },
    versionstamp() {
      const { version } = one<{ version: number }>("SELECT version FROM data_version")!;
      return version.toString(16).padStart(16, "0") + VERSIONSTAMP_TAIL;
    },
    faults() {
      try {
        const rows = database.prepare(`PRAGMA integrity_check(${FAULTS_MAX})`).all();
        return rows.map((row) => String(Object.values(row)[0])).filter((text) => text !== "ok");
      } catch (error) {
        // What is damaged enough ends the check itself.
        if (!/malformed|not a database/.test((error as Error).message)) throw error;
        return [(error as Error).message];
      }
    },
    size() {
      const page = number("page_size");
      return { bytes: page * number("page_count"), freeBytes: page * number("freelist_count") };
    },
    copyInto(into) {
      runVacuum(database, into);
    },
    close: () => database.close(),
  };
}

/** The first key that does not begin with a prefix: no part begins with the byte 255. */
function behind(prefix: Uint8Array): Uint8Array {
  const end = new Uint8Array(prefix.length + 1);
  end.set(prefix);
  end[prefix.length] = 0xff;
  return end;
}
