import { adoptBlob, dropBlob, readBlob, writeBlob } from "../../kv/store/blob.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { type ReportRecord, reports } from "../../kv/records/report.ts";
import type { App } from "../work/work.ts";
import { makeCheckpoint } from "../events/trail/checkpoints.ts";
import { readStatement } from "../protocol/checkpoints/note.ts";
import { atMs, CLOCK_SLACK_MS, isInOrder, rowsBefore } from "../events/trail/places.ts";
import { isLeaf, nodesOf } from "../events/trail/tiles.ts";
import { controlsOf } from "./controls.ts";
import { type Counted, countedNothing, countRow, loadCounted, saveCounted } from "./count.ts";
import type { QueryName } from "./queries.ts";

const PAGE = 500;
/** Rows between two commits of what was counted: a crash costs the reading of no more than these. */
export const ROWS_PER_STEP = 20_000;

type Scan = NonNullable<ReportRecord["scan"]>;
/** A report whose reading has begun. */
export type Begun = ReportRecord & { readonly scan: Scan };

/** Signs the log as it is now, and finds where the period begins in it. */
export async function beginScan(app: App, tenant: Tenant, report: ReportRecord): Promise<void> {
  const { note, size } = await makeCheckpoint(app, tenant);
  const { expired } = readStatement(note)!;
  const fromMs = report.period.from_ms - CLOCK_SLACK_MS;
  const read = nodesOf(app.store, tenant);
  const start = isInOrder(await app.audit.reach(tenant))
    ? await rowsBefore(app, tenant, fromMs, {
      from: expired,
      to: size,
      trusted: (row) => isLeaf(read, row),
    })
    : expired;
  await app.store.transact(async (tx) => {
    const now = await tx.get(reports, tenant, report.id);
    if (now?.status !== "queued") return;
    const scan = { checkpoint: note, size, start, position: start, counted: null };
    tx.put(reports, tenant, { ...now, status: "running", scan });
  });
}

/** What was counted before, as far as it was kept. */
async function countedSoFar({ store }: App, tenant: Tenant, scan: Scan): Promise<Counted> {
  if (scan.counted === null) return countedNothing();
  const bytes = await readBlob(store, tenant, scan.counted);
  if (bytes === null) throw new Error("what a report has counted is not there");
  return loadCounted(bytes);
}

/** Counts the next rows and keeps what was counted, in one commit; answers it all once the last row was read. */
export async function stepScan(app: App, tenant: Tenant, report: Begun): Promise<Counted | null> {
  const { scan, period, type } = report;
  const counted = await countedSoFar(app, tenant, scan);
  const wanted = new Set<QueryName>(controlsOf(type).flatMap(({ queries }) => queries));
  const end = Math.min(scan.size, scan.position + ROWS_PER_STEP);
  const inOrder = isInOrder(await app.audit.reach(tenant));
  const read = nodesOf(app.store, tenant);
  let { position } = scan;
  while (position < end) {
    const page = await app.log.read(tenant, position, Math.min(PAGE, end - position));
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
      const at = atMs(row);
      if (inOrder && at > period.to_ms + CLOCK_SLACK_MS) return counted;
      if (at >= period.from_ms && at <= period.to_ms) countRow(counted, wanted, row);
    }
  }
  if (position >= scan.size) return counted;
  await keep(app, tenant, report, position, counted);
  return null;
}

async function keep(
  app: App,
  tenant: Tenant,
  { id, scan: { position: from } }: Begun,
  position: number,
  counted: Counted,
): Promise<void> {
  const { store, ports } = app;
  const blob = await writeBlob(store, tenant, ports.entropy.id("blb"), saveCounted(counted));
  await store.transact(async (tx) => {
    const now = await tx.get(reports, tenant, id);
    // Another instance was faster: what this one wrote is swept.
    if (now?.scan?.position !== from || now.status !== "running") return;
    await adoptBlob(tx, tenant, blob);
    if (now.scan.counted !== null) dropBlob(tx, tenant, now.scan.counted);
    // Only errors in a row give a report up: a long one meets more of them.
    const scan = { ...now.scan, position, counted: blob };
    tx.put(reports, tenant, { ...now, failures: 0, scan });
  });
}
