import { adoptBlob, dropBlob, readBlob, writeBlob } from "../../../kv/store/blob.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type ReportRecord, reports } from "../../../kv/records/report.ts";
import type { Context } from "../../context/context.ts";
import {
  type AuditTree,
  CLOCK_SLACK_MS,
  isLeaf,
  isTimeOrdered,
  makeCheckpoint,
  nodesOf,
  rowsBefore,
  timestampMs,
} from "../../events/events.ts";
import { readStatement } from "../../protocol/protocol.ts";
import { controlsOf } from "./controls.ts";
import { type Counted, countedNothing, countRow, loadCounted, saveCounted } from "./count.ts";
import type { QueryName } from "./queries.ts";

const PAGE = 500;
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
  const { store, log, audit } = relay;
  const { note, size } = await makeCheckpoint(relay, audit, tenant);
  const { expired } = readStatement(note)!;
  const fromMs = report.period.from_ms - CLOCK_SLACK_MS;
  const read = nodesOf(store, tenant);
  const start = isTimeOrdered(await audit.reach(tenant))
    ? await rowsBefore(log, tenant, fromMs, {
      from: expired,
      to: size,
      trusted: (row) => isLeaf(read, row),
    })
    : expired;
  await store.transact(async (tx) => {
    const now = await tx.get(reports, tenant, report.id);
    if (now?.status !== "queued") return;
    const scan = { checkpoint: note, size, start, position: start, counted: null };
    tx.put(reports, tenant, { ...now, status: "running", scan });
  });
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
  const { store, log, audit } = relay;
  const { scan, period, type } = report;
  const counted = await countedSoFar(relay, tenant, scan);
  const wanted = new Set<QueryName>(controlsOf(type).flatMap(({ queries }) => queries));
  const end = Math.min(scan.size, scan.position + ROWS_PER_STEP);
  const timeOrdered = isTimeOrdered(await audit.reach(tenant));
  const read = nodesOf(store, tenant);
  let { position } = scan;
  while (position < end) {
    const page = await log.read(tenant, position, Math.min(PAGE, end - position));
    const rows = page.filter(({ seq }) => seq <= end);
    if (rows.length === 0) {
      counted.not_kept += end - position;
      position = end;
    }
    for (const row of rows) {
      counted.not_kept += row.seq - position - 1;
      position = row.seq;
      if (!await isLeaf(read, row)) {
        counted.altered++;
        continue;
      }
      const at = timestampMs(row);
      if (timeOrdered && at > period.to_ms + CLOCK_SLACK_MS) return counted;
      if (at >= period.from_ms && at <= period.to_ms) countRow(counted, wanted, row);
    }
  }
  if (position >= scan.size) return counted;
  await saveProgress(relay, tenant, report, position, counted);
  return null;
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
