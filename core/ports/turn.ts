import { setImmediate } from "node:timers";

const waiting: (() => void)[] = [];
const NOTHING = new Uint8Array(1);

/**
 * Lets everything else that is ready run before the caller goes on; no time passes by the clock. Of several who
 * do long work one goes on in each turn, so that others never wait for more than one piece of it.
 */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(lookAround);
  });

/**
 * Waits for an operation that another thread does: until it is done, the runtime looks at its sockets. From one
 * immediate to the next it does so only every 61 turns: beside work in pieces of 1 ms a request then
 * took 225 ms in the median, and 2 ms this way (Deno 2.9).
 */
const lookAround = (): void => void crypto.subtle.digest("SHA-256", NOTHING).then(letOneGoOn);

function letOneGoOn(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(lookAround);
}
