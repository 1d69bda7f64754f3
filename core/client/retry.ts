import type { RelayError } from "./error.ts";
import type { Repetition } from "./operations.ts";

/** Attempts of one call, the first included. */
const ATTEMPTS_MAX = 3;
const FIRST_DELAY_MS = 250;
/** A longer Retry-After is passed on to the caller. */
const DELAY_MS_MAX = 30_000;
const REFUSED_FOR_NOW = [429, 503];

/**
 * How long to wait before the next attempt; null to give up. A request that may have had an effect is not repeated,
 * unless its `Idempotency-Key` makes the repetition harmless.
 */
export function retryDelayMs(
  error: Pick<RelayError, "status" | "code" | "retryAfterMs">,
  { repetition, attempt, random }: {
    readonly repetition: Repetition;
    /** The attempt that failed, from 1. */
    readonly attempt: number;
    /** From 0 to below 1. */
    readonly random: number;
  },
): number | null {
  if (repetition === "never" || attempt >= ATTEMPTS_MAX) return null;
  if (error.code !== "UNREACHED" && !REFUSED_FOR_NOW.includes(error.status)) return null;
  const delayMs = error.retryAfterMs ?? backoffMs(attempt, random);
  return delayMs > DELAY_MS_MAX ? null : delayMs;
}

/** The delay after this many failures in a row: exponential, with full jitter. */
export const backoffMs = (failures: number, random: number): number =>
  Math.round(random * Math.min(FIRST_DELAY_MS * 2 ** failures, DELAY_MS_MAX));
