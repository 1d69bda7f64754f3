import { Secret, TOTP } from "otpauth";
import type { Entropy } from "../../ports/ports.ts";

/** The length that RFC 4226 recommends and every authenticator accepts. */
const SECRET_BYTES = 20;
const STEP_SECONDS = 30;
/** Tolerates a clock that is one step off. */
const WINDOW_STEPS = 1;
const RECIPE = { algorithm: "SHA1", digits: 6, period: STEP_SECONDS } as const;

/** A new TOTP secret, base32. */
export const makeTotpSecret = (entropy: Pick<Entropy, "bytes">): string =>
  new Secret({ buffer: entropy.bytes(SECRET_BYTES).buffer }).base32;

/** The `otpauth://` URI that an authenticator reads from a QR code. */
export const totpUri = (secret: string, email: string): string =>
  new TOTP({ ...RECIPE, issuer: "Relay", label: email, secret: Secret.fromBase32(secret) })
    .toString();

/** The time step of a correct code, counted from the Unix epoch; null for a wrong code. */
export function stepOf(secret: string, code: string, nowMs: number): number | null {
  const totp = new TOTP({ ...RECIPE, secret: Secret.fromBase32(secret) });
  const delta = totp.validate({ token: code, timestamp: nowMs, window: WINDOW_STEPS });
  return delta === null ? null : Math.floor(nowMs / 1000 / STEP_SECONDS) + delta;
}
