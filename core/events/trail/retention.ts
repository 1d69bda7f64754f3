import type { Tenant } from "../../../kv/store/collection.ts";
import { followedTo } from "../../../kv/log/follow.ts";
import { auditTreeId, auditTrees, checkpoints } from "../../../kv/records/audit.ts";
import type { App } from "../../work/work.ts";
import { atMs } from "./places.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Logs that one round looks at. */
const LOGS_PER_ROUND = 500;
/** Segments that one round removes of a log: 60 KiB each at most. */
const SEGMENTS_PER_ROUND = 64;
const CHECKPOINTS_PER_ROUND = 64;

/** Where the next round goes on, by app. */
const cursors = new WeakMap<App, string>();

/**
 * Removes rows that are over their time, whole segments at a time and the oldest first, unless they are held;
 * answers how many. Their hashes stay, so that every proof still holds. The newest segment always stays, and
 * so does what webhooks or alerts have yet to be made from.
 */
export async function dropExpiredRows(app: App): Promise<number> {
  const { retention_days: { audit: days } } = app.config();
  if (days === null) return 0;
  const page = await app.store.queued(auditTrees, "all", {
    limit: LOGS_PER_ROUND,
    cursor: cursors.get(app) ?? null,
  });
  const beforeMs = app.ports.clock.now() - days * DAY_MS;
  let dropped = 0;
  for (const { tenant } of page.items) {
    dropped += await dropOldest(app, tenant, beforeMs);
    if (!isHeld(app, tenant)) await dropCheckpoints(app, tenant, beforeMs);
  }
  if (page.cursor === null) cursors.delete(app);
  else cursors.set(app, page.cursor);
  return dropped;
}

function isHeld(app: App, { org }: Tenant): boolean {
  const { legal_hold } = app.config();
  return legal_hold.includes("*") || legal_hold.includes(org);
}

async function dropOldest(app: App, tenant: Tenant, beforeMs: number): Promise<number> {
  let dropped = 0;
  const passed = await followedTo(app.store, app.log, tenant);
  for (let round = 0; round < SEGMENTS_PER_ROUND; round++) {
    const oldest = await app.log.oldest(tenant);
    if (oldest === null) break;
    const last = oldest.events.at(-1)!;
    // Asked anew each time: what is held from now on must not go with a round that has begun.
    if (last.seq > passed || isHeld(app, tenant)) break;
    // Each of them: where a clock was set back, the last row is not the newest.
    if (!oldest.events.every((row) => atMs(row) < beforeMs)) break;
    const done = await app.store.transact(async (tx) => {
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

/** Old checkpoints say nothing that newer ones do not prove; the newest one stays. */
async function dropCheckpoints(app: App, tenant: Tenant, beforeMs: number): Promise<void> {
  const oldest = await app.store.list(checkpoints, tenant, { limit: CHECKPOINTS_PER_ROUND + 1 });
  const over = oldest.items.slice(0, -1).filter(({ created_at_ms: at }) => at < beforeMs);
  if (over.length === 0) return;
  await app.store.transact((tx) => over.forEach(({ id }) => tx.drop(checkpoints, tenant, id)));
}
