import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Entropy } from "../../ports/ports.ts";
import { base62Length, encodeBase62, encodeUint32Base62 } from "../../codec/codec.ts";

/** The space that a key belongs to. */
export type KeyType = "live" | "test";

const KEY_BYTES = 32;
/** Both prefixes, `svc_live_` and `svc_test_`, have this length. */
const PREFIX_LENGTH = "svc_live_".length;
const CHECKSUM_LENGTH = 6;
const SHOWN_LENGTH = 4;
const KEY_LENGTH = PREFIX_LENGTH + base62Length(KEY_BYTES) + CHECKSUM_LENGTH;

const KEY_FORMAT = /^svc_(live|test)_[0-9A-Za-z]+$/;

/** A new API key: `svc_live_` or `svc_test_`, 43 characters of 256 random bits, 6 of checksum. */
export function makeKeyValue(type: KeyType, entropy: Pick<Entropy, "bytes">): string {
  return makeCheckedText(`svc_${type}_`, entropy);
}

/** The type in a key's text; null for a text that has a typo or was cut. Reads nothing. */
export function parseKeyValue(text: string): { readonly type: KeyType } | null {
  if (text.length !== KEY_LENGTH) return null;
  const match = KEY_FORMAT.exec(text);
  return match !== null && isChecked(text) ? { type: match[1] as KeyType } : null;
}

/** The SHA-256 of a key's text in hex: stored in its place, and looked up by it. */
export function hashKeyValue(text: string): string {
  return hash("sha256", text);
}

/** The part of a key that may be shown, such as `svc_live_Ab12…`. */
export function maskKeyValue(text: string): string {
  return `${text.slice(0, PREFIX_LENGTH + SHOWN_LENGTH)}…`;
}

/** A prefix, 256 random bits and a checksum. */
export function makeCheckedText(prefix: string, entropy: Pick<Entropy, "bytes">): string {
  const text = makeSecretText(prefix, KEY_BYTES, entropy);
  return text + checksum(text);
}

/** True when a text ends with the checksum of the rest. */
export function isChecked(text: string): boolean {
  return checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

/** A prefix and this many random bytes in base62, such as a code to type. */
export function makeSecretText(
  prefix: string,
  bytes: number,
  entropy: Pick<Entropy, "bytes">,
): string {
  return prefix + encodeBase62(entropy.bytes(bytes));
}

/** Guards against typos only: 32 bits fit into 6 characters of base62. */
function checksum(text: string): string {
  return encodeUint32Base62(crc32(text));
}
