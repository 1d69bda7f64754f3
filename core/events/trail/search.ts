import type { Tenant } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import type { Reading } from "../../work/work.ts";
import type { Context } from "../../context/context.ts";
import type { AuditTree } from "./checkpoints.ts";
import {
  type AuditEvent,
  type AuditFilter,
  describe,
  matches,
  showEvent,
  textInJson,
} from "./filter.ts";
import { recordRead } from "./record.ts";
import type { Paging } from "../../../kv/store/paging.ts";
import { mayHaveResult } from "./result.ts";
import { CLOCK_SLACK_MS, isTimeOrdered, rowsBefore, writtenAtMs } from "./row_times.ts";
import { type Cursor, cursorText, readCursor, type Total } from "./search_cursor.ts";

/** Totals of filtered lists are exact up to this many. */
const TOTAL_MAX = 10_000;
/** Rows that one query scans, about one second of work; its cursor continues from there. */
const SCAN_MAX = 500_000;

/**
 * Events that match, newest first. A query shows every change whose response preceded it. `offset` counts from
 * the cursor, which is the number of the oldest event scanned. The total is that of the first page.
 */
export async function queryAudit(
  work: Reading,
  audit: AuditTree,
  filter: AuditFilter,
  paging: Paging & { readonly cursor?: string | undefined },
  scanMax = SCAN_MAX,
) {
  const { log, actor: { tenant } } = work;
  const tree = await audit.reach(tenant);
  const head = await log.head(tenant);
  const cursor: Cursor = paging.cursor === undefined
    ? { before: head + 1, total: null }
    : readCursor(paging.cursor, head);
  const everything = Object.values(filter).every((value) => value === undefined);
  // After a clock was set back, a timestamp does not determine a position in the log.
  const search = { log, tenant, filter, timeOrdered: isTimeOrdered(tree), scanMax };
  const page = everything
    ? await pageOfAll(
      search,
      cursor,
      paging,
      cursor.total ?? { total: head - tree.expired, exact: true },
    )
    : await pageOfMatches(search, cursor, paging);
  const { events, next, total: { total, exact }, offset } = page;
  await recordRead(work, "audit_read", { filter: describe(filter), events: events.length });
  return {
    events,
    cursor: next === null ? null : cursorText(next),
    pagination: {
      total,
      total_is_at_least: !exact,
      limit: paging.limit,
      offset,
      has_more: next !== null,
    },
  };
}

interface Search {
  readonly log: Context["log"];
  readonly tenant: Tenant;
  readonly filter: AuditFilter;
  /** True when timestamps determine positions. */
  readonly timeOrdered: boolean;
  readonly scanMax: number;
}

interface Page {
  readonly events: AuditEvent[];
  /** Where the next page starts; null at the end. */
  readonly next: Cursor | null;
  readonly total: Total;
  /** How many matches were skipped. */
  readonly offset: number;
}

/** A page without conditions. Numbers are dense, so skipped rows need not be read. */
async function pageOfAll(
  search: Search,
  { before }: Cursor,
  { limit, offset }: Paging,
  total: Total,
): Promise<Page> {
  const start = { before: Math.max(1, before - offset), total };
  return { ...await pageOfMatches(search, start, { limit, offset: 0 }), total, offset };
}

async function pageOfMatches(
  search: Search,
  { before, total: known }: Cursor,
  { limit, offset }: Paging,
): Promise<Page> {
  const events: AuditEvent[] = [];
  let seen = 0, oldest = before, cut = false;
  for await (const row of candidates(search, before, (seq) => oldest = seq)) {
    if (row === null) {
      cut = true;
      break;
    }
    const event = showEvent(row);
    if (!matches(event, search.filter)) continue;
    if (++seen > offset && events.length < limit) events.push(event);
    if (seen > offset + limit && (known !== null || seen > TOTAL_MAX)) break;
  }
  const total = known ?? { total: Math.min(seen, TOTAL_MAX), exact: !cut && seen <= TOTAL_MAX };
  const more = seen > offset + limit;
  // When the scan limit cut a page short, the rest of the offset counts from the next cursor.
  const next = more ? events.at(-1)!.seq : cut ? oldest : null;
  return {
    events,
    next: next === null ? null : { before: next, total },
    total,
    offset: cut ? Math.min(seen, offset) : offset,
  };
}

/**
 * Rows that may match, newest first, found without parsing their JSON. Ends with null at the scan limit.
 * `onScan` receives the number of each row scanned.
 */
async function* candidates(
  { log, tenant, filter, timeOrdered, scanMax }: Search,
  before: number,
  onScan: (seq: number) => void,
): AsyncGenerator<Sequenced | null> {
  const { startMs, endMs } = filter;
  let from = before;
  if (endMs !== undefined && timeOrdered) {
    // Binary search skips newer rows.
    const until = endMs + CLOCK_SLACK_MS + 1;
    from = 1 + await rowsBefore(log, tenant, until, { from: 0, to: before - 1 });
  }
  const mayMatch = cheapTest(filter);
  let scanned = 0;
  for await (const rows of log.backwards(tenant, from)) {
    for (const row of rows) {
      if (startMs !== undefined && timeOrdered && writtenAtMs(row) < startMs - CLOCK_SLACK_MS) {
        return;
      }
      if (scanned++ === scanMax) return yield null;
      onScan(row.seq);
      if (mayMatch(row)) yield row;
    }
  }
}

/** False for rows that cannot match. It avoids parsing JSON, which dominates a query's time. */
function cheapTest(filter: AuditFilter): (row: Sequenced) => boolean {
  const { event_type: types, result, text, thread } = filter;
  const named = JSON.stringify(thread ?? "");
  const members = (["agent_id", "actor", "resource_type", "resource_id"] as const)
    .filter((name) => filter[name] !== undefined)
    .map((name) => `"${name}":${JSON.stringify(filter[name])}`);
  const wanted = text === undefined ? "" : textInJson(text);
  return (row) =>
    (types === undefined || types.includes(row.type)) &&
    (result === undefined || mayHaveResult(row, result)) &&
    (thread === undefined || row.json.includes(named)) &&
    members.every((member) => row.json.includes(member)) &&
    (wanted === "" || row.json.toLowerCase().includes(wanted));
}
