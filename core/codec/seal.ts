import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import { constantTimeEqual } from "./text.ts";

/** Shown in answers in place of a sealed value. */
export const MASK = "********";

/** Encrypts secrets that must be read again, and binds each to a context. */
export interface Sealer {
  /** Returns `v1.<key id>.<base64url of IV, ciphertext and tag>`, which only the same context opens. */
  seal(plaintext: string, context: string): string;
  /** @throws {SealError} */
  open(sealed: string, context: string): string;
  /** Seals the same text with the newest secret. @throws {SealError} */
  reseal(sealed: string, context: string): string;
  /** True for a text sealed with the newest secret. */
  isNewest(sealed: string): boolean;
  /** A check value of the newest secret for the store, which reveals nothing about the secret. */
  fingerprint(): string;
  /** A 32-byte MAC of a text by the newest secret. */
  mac(text: string): Uint8Array;
  /** True for the fingerprint of the newest secret or of an older one. */
  recognizes(fingerprint: string): boolean;
}

/** Why a sealed text does not open; `altered` means a changed text or another context. */
export type SealErrorReason = "malformed" | "unknown_key" | "altered";

/** Raised for a sealed text that does not open. */
export class SealError extends Error {
  override readonly name = "SealError";
  constructor(readonly reason: SealErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

const SECRET_LENGTH_MIN = 16;
const KEY_BYTES = 32;
const KEY_ID_BYTES = 6;
/** Sizes by NIST SP 800-38D; random IVs are safe for 2^32 texts per key. */
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** The IV of keys that encrypt once. */
const ONLY_IV = new Uint8Array(IV_BYTES);
/** With IV, tag and base64 well within one 64 KiB value of the store. */
const PLAINTEXT_BYTES_MAX = 40 * 1024;

const SEALED_FORMAT = /^v1\.([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]+)$/;

interface SealKey {
  readonly id: string;
  readonly key: Uint8Array;
  readonly macKey: Uint8Array;
  readonly fingerprint: string;
}

/**
 * Creates a sealer that seals with `secret` and also opens texts of `olderSecrets`.
 * @throws {Error} for a secret with fewer than 16 characters
 */
export function makeSealer(
  secret: string,
  entropy: { bytes(count: number): Uint8Array },
  olderSecrets: readonly string[] = [],
): Sealer {
  const newest = deriveKey(secret);
  const keys = [newest, ...olderSecrets.map(deriveKey)];
  const keyOf = new Map(keys.map((key) => [key.id, key]));
  const sealText = (plaintext: string, context: string) =>
    seal(newest, entropy.bytes(IV_BYTES), plaintext, context);
  const openText = (sealed: string, context: string) => {
    const { id, body } = parseSealed(sealed);
    const key = keyOf.get(id);
    if (key === undefined) {
      throw new SealError("unknown_key", "the text was sealed with another RELAY_SECRET");
    }
    return open(key, body, context);
  };
  return {
    seal: sealText,
    open: openText,
    reseal: (sealed, context) => sealText(openText(sealed, context), context),
    isNewest: (sealed) => sealed.startsWith(`v1.${newest.id}.`),
    mac: (text) => createHmac("sha256", newest.macKey).update(text).digest(),
    fingerprint: () => newest.fingerprint,
    recognizes: (fingerprint) =>
      keys.some((key) => constantTimeEqual(key.fingerprint, fingerprint)),
  };
}

/**
 * Encrypts any number of bytes with a 32-byte key that is used only once. For data too large to seal: only its key
 * is sealed, and sealed again when the secret changes.
 */
export function encryptOnce(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  const cipher = createCipheriv("aes-256-gcm", key, ONLY_IV, { authTagLength: TAG_BYTES });
  return Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts the result of `encryptOnce`. @throws {SealError} */
export function decryptOnce(key: Uint8Array, encrypted: Uint8Array): Uint8Array {
  return decrypt(key, ONLY_IV, encrypted);
}

/** Derives four independent values from one secret. */
function deriveKey(secret: string): SealKey {
  if (secret.trim().length < SECRET_LENGTH_MIN) {
    throw new Error(
      "a secret is too short: RELAY_SECRET, RELAY_SECRET_OLD and the file beside the store each " +
        `hold at least ${SECRET_LENGTH_MIN} characters, such as the output of ` +
        "`openssl rand -base64 32`",
    );
  }
  const root = Buffer.from(hkdfSync("sha256", secret, "", "relay seal v1", KEY_BYTES));
  const derive = (purpose: string) => createHmac("sha256", root).update(purpose).digest();
  return {
    id: derive("key id").subarray(0, KEY_ID_BYTES).toString("base64url"),
    key: derive("encryption"),
    macKey: derive("mac"),
    fingerprint: derive("fingerprint").toString("base64url"),
  };
}

function seal({ id, key }: SealKey, iv: Uint8Array, plaintext: string, context: string): string {
  const bytes = Buffer.from(plaintext);
  if (bytes.length > PLAINTEXT_BYTES_MAX) {
    throw new RangeError(`at most ${PLAINTEXT_BYTES_MAX} bytes can be sealed at once`);
  }
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(context));
  const body = Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  return `v1.${id}.${body.toString("base64url")}`;
}

function parseSealed(sealed: string): { id: string; body: Buffer } {
  const [, id = "", encoded = ""] = SEALED_FORMAT.exec(sealed) ?? [];
  const body = Buffer.from(encoded, "base64url");
  // Several base64 texts decode to the same bytes; only the canonical one is accepted.
  const exact = body.toString("base64url") === encoded;
  if (exact && body.length >= IV_BYTES + TAG_BYTES) return { id, body };
  throw new SealError("malformed", "the text is not a sealed text");
}

function open({ key }: SealKey, body: Buffer, context: string): string {
  const iv = body.subarray(0, IV_BYTES);
  return decrypt(key, iv, body.subarray(IV_BYTES), context).toString();
}

function decrypt(key: Uint8Array, iv: Uint8Array, encrypted: Uint8Array, context = ""): Buffer {
  const end = Math.max(0, encrypted.length - TAG_BYTES);
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(encrypted.subarray(end));
    return Buffer.concat([decipher.update(encrypted.subarray(0, end)), decipher.final()]);
  } catch (cause) {
    throw new SealError("altered", "the text was altered, or sealed for another context", {
      cause,
    });
  }
}
