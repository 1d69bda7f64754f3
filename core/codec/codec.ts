/**
 * Text and byte formats: canonical JSON, instants, periods, hashes, base62 and sealed secrets. Every function
 * depends on its arguments alone; nothing here reads a clock, randomness or the store.
 */

export { isObject } from "./is_object.ts";
export { basicAuth } from "./basic_auth.ts";
export { canonicalJson } from "./canonical.ts";
export { iso, isoOrNull } from "./instant.ts";
export { ISO_CHARS_MAX, ISO_PATTERN, monthsFrom, readIso } from "./iso.ts";
export { PERIOD_CHARS_MAX, PERIOD_FORMS, PERIOD_RULE, readDuration, readPeriod } from "./period.ts";
export { decryptOnce, encryptOnce, makeSealer, MASK, type Sealer, SealError } from "./seal.ts";
export { STANDARD_SECRET_PREFIX, standardKey } from "./standard_webhooks.ts";
export {
  base62Length,
  constantTimeEqual,
  encodeBase62,
  encodeUint32Base62,
  nearestOf,
} from "./text.ts";
