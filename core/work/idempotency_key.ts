import { Fault } from "../fault/fault.ts";

/** The form of an idempotency key. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Refuses a malformed key; `path` is where the caller sent it.
 * @throws {Fault} VALIDATION_FAILED
 */
export function checkIdempotencyKey(key: string, path = "headers.idempotency-key"): void {
  if (IDEMPOTENCY_KEY.test(key)) return;
  throw new Fault(
    "VALIDATION_FAILED",
    "The idempotency key must be 1 to 255 visible ASCII characters.",
    {
      issues: [{ path, message: "must be 1 to 255 visible ASCII characters" }],
    },
  );
}

/** The fault of a key that the caller used for a different call; `details` may name what that call made. */
export const usedForAnotherCall = (details: { readonly command_id?: string } = {}): Fault =>
  new Fault(
    "CONFLICT",
    "This idempotency key was already used for another call. Choose a new one.",
    details,
  );
