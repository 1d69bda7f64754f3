import type { Reading } from "../../work/work.ts";
import { EVENT_TYPES, mustResumeFrom, prepare, WEBHOOK_EVENTS } from "../../events/events.ts";

/** Rows of the log that one request reads; the next request continues from there. */
const SCAN_MAX = 5_000;
const PAGE = 500;

/** An event as in a webhook's body, with its number in the log instead of the delivery. */
export interface PulledEvent {
  readonly seq: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly timestamp: string;
  readonly organization_id: string;
  readonly agent_id?: string;
  readonly payload: Record<string, unknown>;
}

/** The scopes each of which allows reading some events. */
export const READABLE_BY = [...new Set(EVENT_TYPES.map((type) => WEBHOOK_EVENTS[type].scope))];

/**
 * The events of the log after a number that the caller may read, oldest first. `next` is the number to
 * continue after; it also passes events that the caller may not read, so that none is skipped or repeated.
 * @throws {Fault} GONE for a number that the log does not hold (any more)
 */
export async function pullEvents(
  { actor, log }: Reading,
  epoch: string,
  { since, limit, types }: {
    since: number;
    limit: number;
    types?: readonly string[] | undefined;
  },
) {
  await log.flush();
  const { tenant, rights } = actor;
  const head = await log.head(tenant);
  await mustResumeFrom(log, tenant, since, head);
  const end = Math.min(head, since + SCAN_MAX);
  const events: PulledEvent[] = [];
  let next = since;
  scan: while (next < end) {
    const page = await log.read(tenant, next, Math.min(PAGE, end - next));
    if (page.length === 0 || next > 0 && page[0]!.seq !== next + 1) break;
    for (const sequenced of page) {
      if (events.length === limit) break scan;
      next = sequenced.seq;
      const event = prepare(tenant, epoch, sequenced);
      if (event?.kind !== "event" || event.scope === null || !rights.has(event.scope)) continue;
      if (types !== undefined && !types.includes(event.type)) continue;
      events.push({ seq: next, ...JSON.parse(event.json) as Omit<PulledEvent, "seq"> });
    }
  }
  return { events, next, head, has_more: next < head };
}
