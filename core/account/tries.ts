import type { App } from "../app.ts";
import { Fault } from "../fault.ts";

/**
 * Counts one try to give a secret of somebody's; whoever calls this tells of its success.
 * @throws {Fault} RATE_LIMIT_EXCEEDED
 */
export const beginTry = ({ logins }: App, key: string): void => logins.begin(key);

/** What a try came to; one that nobody looked at, because too many wait already, is no failure. */
export async function outcomeOf<R>({ logins }: App, key: string, outcome: Promise<R>): Promise<R> {
  try {
    return await outcome;
  } catch (error) {
    if (error instanceof Fault && error.code === "UNAVAILABLE") logins.forgive(key);
    throw error;
  }
}
