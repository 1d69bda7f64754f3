import { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import type { KeyParts } from "../store/collection.ts";
import { decodeKey, encodeKey } from "./file_key.ts";
import { BUSY_MS, runVacuum } from "./vacuum.ts";

/** How the engine's file marks a value that is neither bytes nor a counter. */
const STRUCTURED = 1;
const FAULTS_MAX = 10;
/** What the engine appends to a commit's number to make a versionstamp. */
const VERSIONSTAMP_TAIL = "0000";
/** What SQLite answers for a file that is damaged, and for one that is no database. */
const DAMAGE = [11, 26];

/** How large a file is, and how much of it holds nothing. */
export interface FileSize {
  readonly bytes: number;
  readonly freeBytes: number;
}

/** Whether an error tells of what is in a file, rather than of the way to it: a lock, rights, the disk. */
export function isDamage(error: unknown): boolean {
  const { code, errcode = 0 } = error as { code?: unknown; errcode?: number };
  // The upper bits tell more of the same; what has no code was found out here.
  return code === undefined || DAMAGE.includes(errcode & 0xff);
}

/** An embedded store's file, read beside the engine: it may be open elsewhere and be written meanwhile. */
export interface StoreFile extends Disposable {
  /** The value of a key, or null. @throws {TypeError} for bytes and counters */
  get(key: KeyParts): unknown;
  /** The first key for each part that follows a prefix, in order, without the prefix. */
  heads(prefix: KeyParts, limit: number): KeyParts[];
  /** How many rows should have gone before an instant in ms, up to `limit`. */
  expiredBefore(ms: number, limit: number): number;
  /** The versionstamp of the newest commit. */
  versionstamp(): string;
  /** What is wrong with the file, an empty list for nothing. Reads all of it. */
  faults(): string[];
  size(): FileSize;
  /** Writes what is committed now into a new file, without what was deleted; writers go on meanwhile. */
  copyInto(path: string): void;
}

interface Row {
  readonly v: Uint8Array;
  readonly v_encoding: number;
}

/**
 * Opens an embedded store's file beside the engine, to read it.
 * @throws {Error} when it is no database, or not one that the engine made, or cannot be opened
 */
export function openFile(path: string): StoreFile {
  Deno.statSync(path); // what is not there would be made
  // Not opened read-only: that would leave a log beside the file behind, which the last one to close tidies up.
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
    if (!isDamage(error)) throw error;
    throw new Error(`${path} is no store: ${(error as Error).message}`, { cause: error });
  }
  return {
    get(key) {
      const row = one<Row>("SELECT v, v_encoding FROM kv WHERE k = ?", encodeKey(key));
      if (row === undefined) return null;
      if (row.v_encoding !== STRUCTURED) throw new TypeError("the value is not a structured one");
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
        // What is damaged enough ends the check itself.
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

/** The first key that does not begin with a prefix: no part begins with the byte 255. */
function behind(prefix: Uint8Array): Uint8Array {
  const end = new Uint8Array(prefix.length + 1);
  end.set(prefix);
  end[prefix.length] = 0xff;
  return end;
}
