import type { Reading } from "../../work/work.ts";
import { type AuditEvent, type AuditFilter, describe, matches, showEvent } from "./filter.ts";
import { recordRead } from "./record.ts";
import { mustResumeFrom } from "./resume.ts";

const PAGE = 500;
/** One call reads at most this many rows; its cursor continues from there. */
const SCAN_MAX = 20_000;

/**
 * Events after a sequence number, oldest first, and the number to continue from. Without a number it returns
 * the newest events. It skips events that do not match and does not wait for new ones.
 * @throws {Fault} GONE when the log no longer has what follows the number
 */
export async function tailAudit(
  work: Reading,
  filter: AuditFilter,
  { limit, after }: { limit: number; after?: number | undefined },
) {
  const { log, actor: { id: actor, tenant } } = work;
  await log.flush();
  const head = await log.head(tenant);
  if (after !== undefined) await mustResumeFrom(log, tenant, after, head);
  let position = after ?? Math.max(0, head - limit);
  const events: AuditEvent[] = [];
  for (let scanned = 0; position < head && scanned < SCAN_MAX && events.length < limit;) {
    const page = await log.read(tenant, position, PAGE);
    for (const sequenced of page) {
      if (events.length === limit || sequenced.seq > head) break;
      const event = showEvent(sequenced);
      if (matches(event, filter)) events.push(event);
      position = sequenced.seq;
      scanned++;
    }
    if (page.length === 0) break;
  }
  // A read that returns only the caller's own reads is not recorded: polling would find new rows for ever.
  const isOwnRead = ({ event_type, actor: by }: AuditEvent) =>
    by === actor && (event_type === "audit_read" || event_type === "api_key_used");
  if (!events.every(isOwnRead)) {
    await recordRead(work, "audit_read", { filter: describe(filter), events: events.length });
  }
  return { events, cursor: position, has_more: position < head };
}
