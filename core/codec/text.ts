import { createHash, timingSafeEqual } from "node:crypto";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The SHA-256 of a text's UTF-8 bytes, or of bytes, as 64 lower-case hexadecimal digits. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Compares two secrets; the time tells neither where they differ nor whether their lengths do. */
export function constantTimeEqual(a: string, b: string): boolean {
  const same = timingSafeEqual(sha256(a), sha256(b));
  // Different lone surrogates become the same UTF-8 bytes; this runs only after equal digests.
  return same && a === b;
}

/**
 * An email as it is compared: without blanks around it, in lower case; null for one with other letters than
 * those of ASCII, of which some become one in lower case, and so somebody else's.
 */
export function canonicalEmail(text: string): string | null {
  return /[^\x20-\x7e]/.test(text.trim()) ? null : text.trim().toLowerCase();
}

/** One line without what a terminal obeys or does not show: what others wrote, as a person sees it. */
export const seenLine = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");

/** Bytes as one big-endian number in base62, padded so that equally many bytes give equally long text. */
export function encodeBase62(bytes: Uint8Array): string {
  let rest = 0n;
  for (const byte of bytes) rest = (rest << 8n) | BigInt(byte);
  let text = "";
  for (let left = base62Length(bytes.length); left > 0; left--) {
    text = BASE62.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

/** A 32-bit unsigned number as 6 characters of base62. */
export function encodeUint32Base62(value: number): string {
  let rest = value;
  let text = "";
  for (let left = 6; left > 0; left--) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** How many characters of base62 hold any value of `bytes` bytes: 43 for 32. */
export function base62Length(bytes: number): number {
  return Math.ceil((bytes * 8) / Math.log2(62));
}

function sha256(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
