import type { Actor } from "./actor.ts";

/**
 * How often each credential is checked where several instances share the store: they tell each other of changes, and
 * a credential's own end is known from its last check.
 */
export const CHECK_SHARED_MS = 30_000;

/** When a credential that is good now is checked again: at its end, or after CHECK_SHARED_MS. */
export const nextCheckOf = (
  { expiresAtMs, key }: Pick<Actor, "expiresAtMs" | "key">,
  nowMs: number,
): number => Math.min(nowMs + CHECK_SHARED_MS, expiresAtMs, key?.oldUntilMs ?? Infinity);
