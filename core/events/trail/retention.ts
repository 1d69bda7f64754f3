import type { Tenant } from "../../../kv/store/collection.ts";
import { followedTo } from "../../../kv/log/follow.ts";
import { auditTreeId, auditTrees, checkpoints } from "../../../kv/records/audit.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Context } from "../../context/context.ts";
import { timestampMs } from "./row_times.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";

/** Logs that one round visits. */
const LOGS_PER_ROUND = 500;
/** Segments, of at most 60 KiB, that one round removes from a log. */
const SEGMENTS_PER_ROUND = 64;
const CHECKPOINTS_PER_ROUND = 64;

/** Where the next round continues, by store. Each instance visits all logs, so this need not be shared. */
const cursors = new WeakMap<Store, string>();

/** The parts of the relay that retention uses. */
type Needs = Pick<Context, "store" | "log" | "config"> & {
  readonly ports: Pick<Context["ports"], "clock">;
};

/**
 * Removes rows past their retention, in whole segments from the oldest, unless a legal hold applies; returns
 * how many. Their hashes stay, so every proof still holds. The newest segment stays, and so do rows that a
 * follower of the log has not processed.
 */
export async function dropExpiredRows(relay: Needs): Promise<number> {
  const { retention_days: { audit: days } } = relay.config();
  if (days === null) return 0;
  const page = await relay.store.queued(auditTrees, "all", {
    limit: LOGS_PER_ROUND,
    cursor: cursors.get(relay.store) ?? null,
  });
  const beforeMs = relay.ports.clock.now() - days * DAY_MS;
  let dropped = 0;
  for (const { tenant } of page.items) {
    dropped += await dropOldest(relay, tenant, beforeMs);
    if (!isOnHold(relay, tenant)) await dropCheckpoints(relay, tenant, beforeMs);
  }
  if (page.cursor === null) cursors.delete(relay.store);
  else cursors.set(relay.store, page.cursor);
  return dropped;
}

function isOnHold(relay: Needs, { org }: Tenant): boolean {
  const { legal_hold } = relay.config();
  return legal_hold.includes("*") || legal_hold.includes(org);
}

async function dropOldest(relay: Needs, tenant: Tenant, beforeMs: number): Promise<number> {
  let dropped = 0;
  const processed = await followedTo(relay.store, relay.log, tenant);
  for (let round = 0; round < SEGMENTS_PER_ROUND; round++) {
    const oldest = await relay.log.oldest(tenant);
    if (oldest === null) break;
    const last = oldest.events.at(-1)!;
    // Checked in each round, so that a hold set meanwhile takes effect at once.
    if (last.seq > processed || isOnHold(relay, tenant)) break;
    // Every row is checked: after a clock was set back, the last row is not the newest.
    if (!oldest.events.every((row) => timestampMs(row) < beforeMs)) break;
    const done = await relay.store.transact(async (tx) => {
      const tree = await tx.get(auditTrees, tenant, auditTreeId(tenant));
      if (tree === null || tree.size < last.seq || tree.expired >= last.seq) return false;
      tx.put(auditTrees, tenant, { ...tree, expired: last.seq });
      oldest.drop(tx);
      return true;
    });
    if (!done) break;
    dropped += oldest.events.length;
  }
  return dropped;
}

/** Removes old checkpoints, which newer ones make redundant; the newest stays. */
async function dropCheckpoints(relay: Needs, tenant: Tenant, beforeMs: number): Promise<void> {
  const oldest = await relay.store.list(checkpoints, tenant, { limit: CHECKPOINTS_PER_ROUND + 1 });
  const over = oldest.items.slice(0, -1).filter(({ created_at_ms: at }) => at < beforeMs);
  if (over.length === 0) return;
  await relay.store.transact((tx) => over.forEach(({ id }) => tx.drop(checkpoints, tenant, id)));
}
