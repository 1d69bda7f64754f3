import { dropBlob, readBlob } from "../../kv/store/blob.ts";
import { type ReportRecord, reports, type ReportType } from "../../kv/records/report.ts";
import type { Reading, Writing } from "../work/work.ts";
import { recordRead } from "../events/trail/query.ts";
import { auditKeyOf, signerOf } from "../events/trail/keys.ts";
import { keyText } from "../protocol/checkpoints/note.ts";
import { Fault } from "../fault/fault.ts";
import { listPage, type Paging } from "../../kv/store/paging.ts";
import { iso, isoOrNull } from "../codec/instant.ts";
import { readPeriod } from "../codec/period.ts";
import type { Pack } from "./pack.ts";

/** Reports of one organization and space that may be under way at once. */
const UNFINISHED_MAX = 10;
/** Reports that are kept; the oldest finished one makes room. */
const KEPT_MAX = 1_000;

/** Asks for a report; it is made as a job. */
export async function requestReport(
  { app, actor: { id: actor, tenant }, tx }: Writing,
  { type, period }: { type: ReportType; period: string },
) {
  const now = app.ports.clock.now();
  // Before the list, which nothing checks: another report that comes after this makes it look again.
  const kept = await tx.count(reports, tenant);
  const { items: open } = await tx.list(reports, tenant, {
    index: "under_way",
    limit: UNFINISHED_MAX,
  });
  if (open.length === UNFINISHED_MAX) {
    const message = `${UNFINISHED_MAX} reports are being made. Wait until one has ended.`;
    throw new Fault("CONFLICT", message);
  }
  const report: ReportRecord = {
    id: app.ports.entropy.id("rep"),
    type,
    period: readPeriod(period, now, "body.period").period,
    status: "queued",
    requested_by: actor,
    created_at_ms: now,
    finished_at_ms: null,
    failures: 0,
    scan: null,
    pack: null,
  };
  if (kept >= KEPT_MAX) await dropOldest(tx, tenant);
  tx.insert(reports, tenant, report);
  tx.afterCommit(() => app.reports.wake());
  return showReport(report);
}

async function dropOldest(tx: Writing["tx"], tenant: Writing["actor"]["tenant"]): Promise<void> {
  const { items: [oldest] } = await tx.list(reports, tenant, { index: "finished", limit: 1 });
  const report = oldest && await tx.get(reports, tenant, oldest.id);
  if (!report) return;
  if (report.pack !== null) dropBlob(tx, tenant, report.pack.blob);
  tx.delete(reports, tenant, report.id);
}

/** A report as lists show it. */
function showReport(report: ReportRecord) {
  const { id, type, period, status, requested_by, created_at_ms, finished_at_ms, scan } = report;
  const read = scan === null ? 0 : scan.position - scan.start;
  const total = scan === null ? null : scan.size - scan.start;
  return {
    id,
    type,
    status,
    period: { asked: period.asked, from: iso(period.from_ms), to: iso(period.to_ms) },
    progress: { rows_read: read, rows_total: total },
    requested_by,
    created_at: iso(created_at_ms),
    finished_at: isoOrNull(finished_at_ms),
    sha256: report.pack?.sha256 ?? null,
  };
}

/** Reports, newest first. */
export async function listReports({ db, actor }: Reading, paging: Paging) {
  const options = { ...paging, reverse: true };
  const { items, pagination } = await listPage(db, reports, actor.tenant, options);
  return { reports: items.map(showReport), pagination };
}

/** A report and, once it is completed, its pack with the note that signs it. */
export interface ReadReport extends ReturnType<typeof showReport> {
  readonly report: Pack | null;
  /** The signed note over the SHA-256 of the pack's canonical JSON, and the key that made it. */
  readonly note: string | null;
  readonly public_key: string;
}

/**
 * One report; without an id the newest that is completed, or else the newest. Reading one is audited.
 * @throws {Fault} NOT_FOUND
 */
export async function readReport(work: Reading, id: string | undefined): Promise<ReadReport> {
  const { app, db, actor: { tenant } } = work;
  const record = id === undefined ? await newestReport(work) : await db.get(reports, tenant, id);
  if (record === null) {
    throw new Fault(
      "NOT_FOUND",
      id === undefined ? "There is no report yet. Ask for one first." : undefined,
    );
  }
  const { pack } = record;
  const bytes = pack && await readBlob(app.store, tenant, pack.blob);
  if (pack !== null && bytes === null) throw new Fault("NOT_FOUND");
  await recordRead(work, "compliance_report_read", { report_id: record.id });
  return {
    ...showReport(record),
    report: bytes && JSON.parse(new TextDecoder().decode(bytes)) as Pack,
    note: pack?.note ?? null,
    public_key: keyText(signerOf(await auditKeyOf(app, tenant), pack?.note ?? "")),
  };
}

async function newestReport({ db, actor: { tenant } }: Reading): Promise<ReportRecord | null> {
  const finished = await db.list(reports, tenant, { index: "finished", limit: 20, reverse: true });
  const completed = finished.items.find(({ status }) => status === "completed");
  if (completed !== undefined) return completed;
  const { items: [newest] } = await db.list(reports, tenant, { limit: 1, reverse: true });
  return newest ?? null;
}
