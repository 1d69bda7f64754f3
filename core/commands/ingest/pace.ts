import type { App } from "../../work/work.ts";

/** How long the work for known senders lately took, in ms, by app; the newest takes the oldest's place. */
const lately = new WeakMap<App, { readonly tookMs: number[]; next: number }>();
const KEPT = 64;
/** Longer than any notification takes that is not made to be large. */
const WAIT_MS_MAX = 250;

/**
 * Does what came in, and answers no sooner where nothing came of it: an unknown sender waits as long as
 * one of the known ones lately took, so that the time does not tell who is known.
 */
export async function keepPace<T>(app: App, work: () => Promise<T | null>): Promise<T | null> {
  const { clock, entropy } = app.ports;
  const sinceMs = clock.now();
  const done = await work();
  const known = lately.get(app) ?? { tookMs: [], next: 0 };
  if (done === null) {
    const tookMs = known.tookMs[Math.floor(entropy.unit() * known.tookMs.length)] ?? 0;
    const leftMs = Math.min(tookMs, WAIT_MS_MAX) - (clock.now() - sinceMs);
    if (leftMs > 0) await clock.sleep(leftMs);
    return null;
  }
  lately.set(app, known);
  known.tookMs[known.next] = clock.now() - sinceMs;
  known.next = (known.next + 1) % KEPT;
  return done;
}
