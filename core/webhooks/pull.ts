import type { Reading } from "../work/work.ts";
import { mustResumeFrom } from "../events/trail/resume.ts";
import { prepare } from "../events/streams/message.ts";
import { EVENT_TYPES, WEBHOOK_EVENTS } from "../events/types/webhook_events.ts";

/** Rows of the log that one answer looks at; the cursor goes on from there. */
const SCAN_MAX = 5_000;
const PAGE = 500;

/** An event as a webhook's body has it, but for the delivery, with its number in the log. */
export interface PulledEvent {
  readonly seq: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly timestamp: string;
  readonly organization_id: string;
  readonly agent_id?: string;
  readonly payload: Record<string, unknown>;
}

/** Any of these opens some events. */
export const READABLE_BY = [...new Set(EVENT_TYPES.map((type) => WEBHOOK_EVENTS[type].scope))];

/**
 * Events of the log behind a number, oldest first, as far as the caller may read them. `next` is where to
 * go on, also when nothing in between was for the caller, so that no event is passed over or comes twice.
 * @throws {Fault} GONE for a number that the log does not have, or no longer
 */
export async function pullEvents(
  { app, actor }: Reading,
  { since, limit, types }: {
    since: number;
    limit: number;
    types?: readonly string[] | undefined;
  },
) {
  await app.log.flush();
  const { tenant, rights } = actor;
  const head = await app.log.head(tenant);
  await mustResumeFrom(app.log, tenant, since, head);
  const end = Math.min(head, since + SCAN_MAX);
  const events: PulledEvent[] = [];
  let next = since;
  scan: while (next < end) {
    const page = await app.log.read(tenant, next, Math.min(PAGE, end - next));
    if (page.length === 0 || next > 0 && page[0]!.seq !== next + 1) break;
    for (const sequenced of page) {
      if (events.length === limit) break scan;
      next = sequenced.seq;
      const event = prepare(tenant, app.epoch, sequenced);
      if (event?.kind !== "event" || event.scope === null || !rights.has(event.scope)) continue;
      if (types !== undefined && !types.includes(event.type)) continue;
      events.push({ seq: next, ...JSON.parse(event.json) as Omit<PulledEvent, "seq"> });
    }
  }
  return { events, next, head, has_more: next < head };
}
