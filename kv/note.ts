import { Buffer } from "node:buffer";
import { slotOf } from "./collection.ts";
import type { Note } from "./commit.ts";
import { LOG_VALUE_BYTES_MAX } from "./limits.ts";

/**
 * A line of JSON for a value that all callers of one commit share: what costs a write of its own only once
 * a commit, however many write it.
 * @throws {RangeError} when one value cannot hold it
 */
export function noteOf(key: Deno.KvKey, text: string, expireIn?: number): Note {
  const bytes = Buffer.byteLength(text);
  if (bytes > LOG_VALUE_BYTES_MAX) throw new RangeError(`a note of ${bytes} bytes`);
  const note = { key, slot: slotOf(key), text, bytes };
  return expireIn === undefined ? note : { ...note, expireIn };
}
