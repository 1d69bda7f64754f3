import type { Clock } from "./interfaces.ts";

/** The value of a promise, or null when it takes longer than `ms`. */
export async function within<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const cancel = clock.after(ms, () => resolve(null));
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel();
  }
}
