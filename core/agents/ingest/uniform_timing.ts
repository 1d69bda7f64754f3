import type { Store } from "../../../kv/store/store.ts";
import type { Context } from "../../context/context.ts";

/** Recent durations of requests from known senders, in ms, by store; the newest replaces the oldest. */
const durations = new WeakMap<Store, { readonly tookMs: number[]; next: number }>();
const REMEMBERED_MAX = 64;
/** Exceeds the time that any request of ordinary size takes. */
const WAIT_MS_MAX = 250;

/**
 * Runs `work`. When it returns null, because the sender is unknown, waits as long as a recent request of a known
 * sender took, so that the response time does not reveal which senders are known.
 */
export async function withUniformTiming<T>(
  { store, ports: { clock, entropy } }: Pick<Context, "store" | "ports">,
  work: () => Promise<T | null>,
): Promise<T | null> {
  const sinceMs = clock.now();
  const done = await work();
  const known = durations.get(store) ?? { tookMs: [], next: 0 };
  if (done === null) {
    const tookMs = known.tookMs[Math.floor(entropy.unit() * known.tookMs.length)] ?? 0;
    const leftMs = Math.min(tookMs, WAIT_MS_MAX) - (clock.now() - sinceMs);
    if (leftMs > 0) await clock.sleep(leftMs);
    return null;
  }
  durations.set(store, known);
  known.tookMs[known.next] = clock.now() - sinceMs;
  known.next = (known.next + 1) % REMEMBERED_MAX;
  return done;
}
