import type { App } from "../app.ts";
import { Fault } from "../fault.ts";

/** Failed sign-ins for one email from one address, and for how long they count. */
export const LOGIN_TRIES = 10;
export const LOGIN_WINDOW_MS = 15 * 60 * 1000;

/**
 * Counts one try to give a secret of somebody's; whoever calls this tells of its success.
 * @throws {Fault} RATE_LIMIT_EXCEEDED
 */
export function beginTry({ logins, ports }: App, key: string): void {
  const waitMs = logins.begin(key);
  if (waitMs === 0) return;
  const retry_after = Math.ceil(waitMs / 1000);
  throw new Fault("RATE_LIMIT_EXCEEDED", `Too many tries failed. Try again in ${retry_after} s.`, {
    limit: LOGIN_TRIES,
    scope: "login",
    reset: Math.ceil((ports.clock.now() + waitMs) / 1000),
    retry_after,
  });
}

/** What a try came to; one that nobody looked at, because too many wait already, is no failure. */
export async function outcomeOf<R>({ logins }: App, key: string, outcome: Promise<R>): Promise<R> {
  try {
    return await outcome;
  } catch (error) {
    if (error instanceof Fault && error.code === "UNAVAILABLE") logins.forgive(key);
    throw error;
  }
}
