import { Fault } from "../fault/fault.ts";

/** The form of an Idempotency-Key. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** @throws {Fault} VALIDATION_FAILED */
export function checkIdempotencyKey(key: string): void {
  if (IDEMPOTENCY_KEY.test(key)) return;
  throw new Fault("VALIDATION_FAILED", "Idempotency-Key takes 1 to 255 visible characters.", {
    issues: [{ path: "headers.idempotency-key", message: "1 to 255 visible ASCII characters" }],
  });
}
