import type { Tenant } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import type { App, Reading } from "../../work/work.ts";
import {
  type AuditEvent,
  type AuditFilter,
  describe,
  matches,
  recordRead,
  showEvent,
  textInJson,
} from "./query.ts";
import type { Paging } from "../../../kv/store/paging.ts";
import { mayHaveResult } from "./result.ts";
import { CLOCK_SLACK_MS, isInOrder, rowsBefore, timeOf } from "./places.ts";
import { type Place, placeText, readPlace, type Total } from "./search_cursor.ts";

/** Totals of filtered lists are exact up to here. */
const TOTAL_MAX = 10_000;
/** Rows that one query looks at, about a second's work; its cursor goes on from there. */
const SCAN_MAX = 500_000;

/**
 * Events that match, newest first. A query shows every change that was answered before it began. `offset`
 * counts from the cursor, which is the number of the oldest event that was looked at; the total is that of
 * the walk's first page.
 */
export async function queryAudit(
  work: Reading,
  filter: AuditFilter,
  paging: Paging & { readonly cursor?: string | undefined },
  scanMax = SCAN_MAX,
) {
  const { app, actor: { tenant } } = work;
  const tree = await app.audit.reach(tenant);
  const head = await app.log.head(tenant);
  const place: Place = paging.cursor === undefined
    ? { before: head + 1, total: null }
    : readPlace(paging.cursor, head);
  const everything = Object.values(filter).every((value) => value === undefined);
  // Where a clock was set back, a time is no place in the log.
  const search = { tenant, filter, inOrder: isInOrder(tree), scanMax };
  const page = everything
    ? await pageOfAll(app, search, place, paging, { total: head - tree.expired, exact: true })
    : await pageOfMatches(app, search, place, paging);
  const { events, next, total: { total, exact }, offset } = page;
  await recordRead(work, "audit_read", { filter: describe(filter), events: events.length });
  return {
    events,
    cursor: next === null ? null : placeText(next),
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
  readonly tenant: Tenant;
  readonly filter: AuditFilter;
  readonly inOrder: boolean;
  readonly scanMax: number;
}

interface Page {
  readonly events: AuditEvent[];
  /** Where to go on; null at the end. */
  readonly next: Place | null;
  readonly total: Total;
  /** How many were passed over. */
  readonly offset: number;
}

/** Numbers are dense: what is passed over need not be read. */
async function pageOfAll(
  app: App,
  search: Search,
  { before }: Place,
  { limit, offset }: Paging,
  total: Total,
): Promise<Page> {
  const start = { before: Math.max(1, before - offset), total };
  return { ...await pageOfMatches(app, search, start, { limit, offset: 0 }), total, offset };
}

async function pageOfMatches(
  app: App,
  search: Search,
  { before, total: known }: Place,
  { limit, offset }: Paging,
): Promise<Page> {
  const events: AuditEvent[] = [];
  let seen = 0, looked = before, cut = false;
  for await (const row of candidates(app, search, before, (seq) => looked = seq)) {
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
  // Where it broke off before a page was full, what is left to pass over comes after the cursor.
  const next = more ? events.at(-1)!.seq : cut ? looked : null;
  return {
    events,
    next: next === null ? null : { before: next, total },
    total,
    offset: cut ? Math.min(seen, offset) : offset,
  };
}

/**
 * Rows that may match, newest first, found without reading their JSON; then null where the query has looked
 * at as many as it may.
 */
async function* candidates(
  app: App,
  { tenant, filter, inOrder, scanMax }: Search,
  before: number,
  looked: (seq: number) => void,
): AsyncGenerator<Sequenced | null> {
  const { startMs, endMs } = filter;
  let from = before;
  if (endMs !== undefined && inOrder) {
    // What is newer need not be looked at row by row.
    const until = endMs + CLOCK_SLACK_MS + 1;
    from = 1 + await rowsBefore(app, tenant, until, { from: 0, to: before - 1 });
  }
  const mayMatch = cheapTest(filter);
  let scanned = 0;
  for await (const rows of app.log.backwards(tenant, from)) {
    for (const row of rows) {
      if (startMs !== undefined && inOrder && timeOf(row) < startMs - CLOCK_SLACK_MS) return;
      if (scanned++ === scanMax) return yield null;
      looked(row.seq);
      if (mayMatch(row)) yield row;
    }
  }
}

/** False for a row that does not match; it reads no JSON, which is what a query's time goes to. */
function cheapTest(filter: AuditFilter): (row: Sequenced) => boolean {
  const { event_type: types, result, text } = filter;
  const members = (["actor", "resource_type", "resource_id"] as const)
    .filter((name) => filter[name] !== undefined)
    .map((name) => `"${name}":${JSON.stringify(filter[name])}`);
  const wanted = text === undefined ? "" : textInJson(text);
  return (row) =>
    (types === undefined || types.includes(row.type)) &&
    (result === undefined || mayHaveResult(row, result)) &&
    members.every((member) => row.json.includes(member)) &&
    (wanted === "" || row.json.toLowerCase().includes(wanted));
}
