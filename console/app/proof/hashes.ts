/** What the proofs of docs/audit.md are made of: bytes, their hashes by WebCrypto, and the text that is hashed. */

export type Bytes = Uint8Array<ArrayBuffer>;

export const HASH_BYTES = 32;

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

export async function sha256(...parts: readonly Bytes[]): Promise<Bytes> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", all));
}

/** The bytes of canonical base64; null for any other text, so that no value has two spellings. */
export function fromBase64(text: string): Bytes | null {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return base64(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}

export const base64 = (bytes: Bytes): string => btoa(String.fromCharCode(...bytes));
export const hex = (bytes: Bytes): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The SHA-256 of a text, in hex. */
export const digestOf = async (text: string): Promise<string> => hex(await sha256(utf8(text)));

/** The canonical JSON (RFC 8785) of a value that was read from JSON. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = value as Readonly<Record<string, unknown>>;
  return `{${
    Object.keys(members).filter((name) => members[name] !== undefined).sort()
      .map((name) => `${JSON.stringify(name)}:${canonicalJson(members[name])}`).join(",")
  }}`;
}
