import { setImmediate } from "node:timers";

const waiting: (() => void)[] = [];

/**
 * Lets everything else that is ready run before the caller goes on; no time passes by the clock. Of several who
 * do long work one goes on in each turn, so that others never wait for more than one piece of it.
 */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(letOneGoOn);
  });

function letOneGoOn(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(letOneGoOn);
}
