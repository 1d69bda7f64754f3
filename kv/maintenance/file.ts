import { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import type { KeyParts } from "../store/collection.ts";
import { decodeKey, encodeKey } from "./file_key.ts";
import { BUSY_MS, runVacuum } from "./vacuum.ts";

/** The engine's `v_encoding` of a value that is neither bytes nor a counter. */
const STRUCTURED = 1;
const FAULTS_MAX = 10;
/** The engine appends this to a commit's number to make a versionstamp. */
const VERSIONSTAMP_TAIL = "0000";
/** SQLITE_CORRUPT, for a damaged file, and SQLITE_NOTADB. */
const DAMAGE = [11, 26];

/** A file's size, and how much of it is free pages. */
export interface FileSize {
  readonly bytes: number;
  readonly freeBytes: number;
}

/** True when an error is about a file's content rather than about locks, permissions or the disk. */
export function isDamage(error: unknown): boolean {
  const { code, errcode = 0 } = error as { code?: unknown; errcode?: number };
  // The upper bits are SQLite's extended code. This module throws errors without a code.
  return code === undefined || DAMAGE.includes(errcode & 0xff);
}

/** An embedded store's file, opened for reading. The engine may have it open and write to it meanwhile. */
export interface StoreFile extends Disposable {
  /** The value of a key, or null. @throws {TypeError} for bytes and counters */
  get(key: KeyParts): unknown;
  /** The first key for each part that follows a prefix, in order, without the prefix. */
  heads(prefix: KeyParts, limit: number): KeyParts[];
  /** How many rows expired before an instant in ms and are still stored, at most `limit`. */
  expiredBefore(ms: number, limit: number): number;
  /** The versionstamp of the newest commit. */
  versionstamp(): string;
  /** The faults that SQLite's integrity check finds. It reads the whole file. */
  faults(): string[];
  size(): FileSize;
  /** Copies what is committed now into a new file, without free pages. Writers need not stop. */
  copyInto(path: string): void;
}

interface Row {
  readonly v: Uint8Array;
  readonly v_encoding: number;
}

/**
 * Opens an embedded store's file for reading, without the engine.
 * @throws {Error} when it cannot be opened, is no database, or was not made by the engine
 */
export function openFile(path: string): StoreFile {
  Deno.statSync(path); // SQLite would create a missing file
  // Not read-only: the last connection to close must be able to remove the write-ahead log.
  const database = new DatabaseSync(path);
  const one = <T>(sql: string, ...values: (Uint8Array | number)[]) =>
    database.prepare(sql).get(...values) as T | undefined;
  const number = (name: string) => Number(Object.values(one<object>(`PRAGMA ${name}`)!)[0]);
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    if (one("SELECT 1 FROM sqlite_master WHERE name = 'data_version'") === undefined) {
      throw new Error("it lacks the engine's tables");
    }
  } catch (error) {
    database.close();
    if (!isDamage(error)) throw error;
    throw new Error(`${path} is not a store: ${(error as Error).message}`, { cause: error });
  }
  return {
    get(key) {
      const row = one<Row>("SELECT v, v_encoding FROM kv WHERE k = ?", encodeKey(key));
      if (row === undefined) return null;
      if (row.v_encoding !== STRUCTURED) throw new TypeError("the value is bytes or a counter");
      return deserialize(row.v);
    },
    heads(prefix, limit) {
      const start = encodeKey(prefix);
      const end = behind(start);
      const next = database.prepare("SELECT k FROM kv WHERE k > ? AND k < ? ORDER BY k LIMIT 1");
      const heads: KeyParts[] = [];
      for (let from: Uint8Array = start; heads.length < limit;) {
        const row = next.get(from, end) as { k: Uint8Array } | undefined;
        if (row === undefined) break;
        const head = decodeKey(row.k.subarray(start.length));
        heads.push(head);
        from = behind(encodeKey([...prefix, head[0]!]));
      }
      return heads;
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
        // Heavy damage makes the check itself fail.
        if (!isDamage(error)) throw error;
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
    [Symbol.dispose]: () => database.close(),
  };
}

/** An upper bound of all keys with a prefix: no part begins with the byte 255. */
function behind(prefix: Uint8Array): Uint8Array {
  const end = new Uint8Array(prefix.length + 1);
  end.set(prefix);
  end[prefix.length] = 0xff;
  return end;
}
