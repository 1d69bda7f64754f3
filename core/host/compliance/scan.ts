import { adoptBlob, dropBlob, readBlob, writeBlob } from "../../../kv/store/blob.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type ReportRecord, reports, type ReportType } from "../../../kv/records/report.ts";
import type { Context } from "../../context/context.ts";
import {
  type AuditTree,
  CLOCK_SLACK_MS,
  endOfTile,
  type EventRow,
  isLeaf,
  isLeafAt,
  isTimeOrdered,
  leavesOf,
  makeCheckpoint,
  nodesOf,
  rowsBefore,
} from "../../events/events.ts";
import { readStatement } from "../../protocol/protocol.ts";
import { controlsOf } from "./controls.ts";
import { type Counted, countedNothing, countRow, loadCounted, saveCounted } from "./count.ts";
import type { QueryName } from "./queries.ts";

/** Rows between two commits of the counts. After a crash at most this many are read again. */
export const ROWS_PER_STEP = 20_000;

type Scan = NonNullable<ReportRecord["scan"]>;
/** The parts of the relay that making reports uses. */
export interface ReportNeeds extends Omit<Context, "config"> {
  readonly audit: AuditTree;
}

/** A report whose scan of the log has begun. */
export type ScannedReport = ReportRecord & { readonly scan: Scan };

/** Signs a checkpoint of the log and finds where the period begins in it. */
export async function beginScan(
  relay: ReportNeeds,
  tenant: Tenant,
  report: ReportRecord,
): Promise<void> {
  const { store, audit } = relay;
  const { note, size } = await makeCheckpoint(relay, audit, tenant);
  const { start } = await rangeOf(relay, tenant, report.period, note);
  await store.transact(async (tx) => {
    const now = await tx.get(reports, tenant, report.id);
    if (now?.status !== "queued") return;
    const scan = { checkpoint: note, size, start, position: start, counted: null };
    tx.put(reports, tenant, { ...now, status: "running", scan });
  });
}

/** The rows that a checkpoint covers and that may be in a period: those after `start`, up to `end`. */
export async function rangeOf(
  { store, log, audit }: Pick<ReportNeeds, "store" | "log" | "audit">,
  tenant: Tenant,
  { from_ms, to_ms }: Pick<ReportRecord["period"], "from_ms" | "to_ms">,
  checkpoint: string,
): Promise<{ readonly start: number; readonly end: number }> {
  const { size, expired } = readStatement(checkpoint)!;
  if (!isTimeOrdered(await audit.reach(tenant))) return { start: expired, end: size };
  const read = nodesOf(store, tenant);
  const before = (ms: number, from: number) =>
    rowsBefore(log, tenant, ms, { from, to: size, trusted: (row) => isLeaf(read, row) });
  const start = await before(from_ms - CLOCK_SLACK_MS, expired);
  return { start, end: await before(to_ms + CLOCK_SLACK_MS + 1, start) };
}

/** The counts of earlier steps. */
async function countedSoFar({ store }: ReportNeeds, tenant: Tenant, scan: Scan): Promise<Counted> {
  if (scan.counted === null) return countedNothing();
  const bytes = await readBlob(store, tenant, scan.counted);
  if (bytes === null) throw new Error("the stored counts of a report are missing");
  return loadCounted(bytes);
}

/** Counts the next rows and stores the counts in one commit; returns all counts after the last row, else null. */
export async function stepScan(
  relay: ReportNeeds,
  tenant: Tenant,
  report: ScannedReport,
): Promise<Counted | null> {
  const { scan, period, type } = report;
  const count = { counted: await countedSoFar(relay, tenant, scan), wanted: wantedBy(type) };
  const end = Math.min(scan.size, scan.position + ROWS_PER_STEP);
  const isOver = await countRows(relay, tenant, period, scan.position, end, [count]);
  if (isOver || end >= scan.size) return count.counted;
  await saveProgress(relay, tenant, report, end, count.counted);
  return null;
}

/** Counts, and the queries that they are for. */
export interface Count {
  readonly counted: Counted;
  readonly wanted: ReadonlySet<QueryName>;
}

/** The queries of a report type. */
export const wantedBy = (type: ReportType): ReadonlySet<QueryName> =>
  new Set(controlsOf(type).flatMap(({ queries }) => queries));

/**
 * Adds the rows after `from`, up to the row `to`, to all counts, if they are in the period. True when no later row can
 * be in it.
 */
export async function countRows(
  { store, log, audit }: Pick<ReportNeeds, "store" | "log" | "audit">,
  tenant: Tenant,
  period: ReportRecord["period"],
  from: number,
  to: number,
  counts: readonly Count[],
): Promise<boolean> {
  const timeOrdered = isTimeOrdered(await audit.reach(tenant));
  const note = (what: "not_kept" | "altered", rows: number) =>
    counts.forEach(({ counted }) => counted[what] += rows);
  const reader = log.reader(tenant);
  for (let position = from; position < to;) {
    const end = endOfTile(position, to);
    const leaves = await leavesOf(store, tenant, position, end);
    const first = position;
    for (const row of await reader.read(first, end - first)) {
      if (row.seq > end) break;
      note("not_kept", row.seq - position - 1);
      position = row.seq;
      if (!isLeafAt(leaves, row.seq - 1 - first, row)) {
        note("altered", 1);
        continue;
      }
      const event = JSON.parse(row.json) as EventRow;
      const at = Date.parse(event.timestamp);
      if (timeOrdered && at > period.to_ms + CLOCK_SLACK_MS) return true;
      if (at < period.from_ms || at > period.to_ms) continue;
      for (const { counted, wanted } of counts) countRow(counted, wanted, row.seq, event);
    }
    note("not_kept", end - position);
    position = end;
  }
  return false;
}

async function saveProgress(
  { store, ports }: ReportNeeds,
  tenant: Tenant,
  { id, scan: { position: from } }: ScannedReport,
  position: number,
  counted: Counted,
): Promise<void> {
  const blob = await writeBlob(store, tenant, ports.entropy.id("blb"), saveCounted(counted));
  await store.transact(async (tx) => {
    const now = await tx.get(reports, tenant, id);
    // Another instance was faster. Maintenance removes the unused blob.
    if (now?.scan?.position !== from || now.status !== "running") return;
    await adoptBlob(tx, tenant, blob);
    if (now.scan.counted !== null) dropBlob(tx, tenant, now.scan.counted);
    // Only consecutive failures count, because a long report meets more of them.
    const scan = { ...now.scan, position, counted: blob };
    tx.put(reports, tenant, { ...now, failures: 0, scan });
  });
}
