import { Buffer } from "node:buffer";

/** Marks a secret whose rest is base64, as the Standard Webhooks specification writes them. */
export const STANDARD_SECRET_PREFIX = "whsec_";

/** Whole groups of four characters: strict decoders refuse anything else. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{4})$/;

/** The HMAC key of a secret: libraries of Standard Webhooks decode a `whsec_` secret and use any other as it is. */
export function standardKey(secret: string): Buffer | string {
  if (!secret.startsWith(STANDARD_SECRET_PREFIX)) return secret;
  const encoded = secret.slice(STANDARD_SECRET_PREFIX.length);
  return BASE64.test(encoded) ? Buffer.from(encoded, "base64") : secret;
}
