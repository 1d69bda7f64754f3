/** Resolves after `ms`, for a pause between tries or in a load. */
export const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const POLL_MS = 100;

/**
 * Resolves when `isSo` is true, with how long that took since `sinceMs`.
 * @throws {Error} when it takes longer than `ms`
 */
export async function until(
  what: string,
  ms: number,
  isSo: () => Promise<boolean> | boolean,
  sinceMs = performance.now(),
): Promise<number> {
  while (!await isSo()) {
    if (performance.now() - sinceMs > ms) throw new Error(`not within ${ms / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return performance.now() - sinceMs;
}
