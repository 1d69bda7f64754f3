import { setImmediate } from "node:timers";

/** Lets everything else that is ready run before the caller goes on; no time passes by the clock. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
