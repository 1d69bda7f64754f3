import { Buffer } from "node:buffer";
import type { CoalescedLine } from "./change.ts";
import { keyTextOf } from "./collection.ts";
import { LOG_VALUE_BYTES_MAX } from "../engine/engine_limits.ts";

/**
 * A line of JSON for a value that all callers of one commit share, so that it costs one write a commit
 * however many callers add a line.
 * @throws {RangeError} when one value cannot hold it
 */
export const coalescedLine = (key: Deno.KvKey, text: string, expireIn?: number): CoalescedLine =>
  coalescedLineAt({ key, keyText: keyTextOf(key) }, text, expireIn);

/** The same at a key whose text is known. @throws {RangeError} when one value cannot hold it */
export function coalescedLineAt(
  { key, keyText }: { readonly key: Deno.KvKey; readonly keyText: string },
  text: string,
  expireIn?: number,
): CoalescedLine {
  const bytes = Buffer.byteLength(text);
  if (bytes > LOG_VALUE_BYTES_MAX) {
    throw new RangeError(
      `a coalesced line has ${bytes} bytes; the limit is ${LOG_VALUE_BYTES_MAX}`,
    );
  }
  return expireIn === undefined
    ? { key, keyText, text, bytes }
    : { key, keyText, text, bytes, expireIn };
}
