import { dropBlob, readBlob } from "../../../kv/store/blob.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { type ReportRecord, reports, type ReportType } from "../../../kv/records/report.ts";
import type { Reading, Writing } from "../../work/work.ts";
import { auditKeyOf, recordRead, signerOf } from "../../events/events.ts";
import { keyText } from "../../protocol/protocol.ts";
import { Fault } from "../../fault/fault.ts";
import { listPage, type Paging } from "../../../kv/store/paging.ts";
import { iso, isoOrNull, readPeriod } from "../../codec/codec.ts";
import type { Pack } from "./pack.ts";

/** Unfinished reports of one organization and space. */
const UNFINISHED_MAX = 10;
/** Reports kept; a new one replaces the oldest finished one. */
export const REPORTS_KEPT_MAX = 1_000;

/**
 * Queues a report, which is made as a job.
 * @throws {Fault} CONFLICT when too many are unfinished, VALIDATION_FAILED for the period
 */
export async function requestReport(
  { ports, actor: { id: actor, tenant }, tx }: Writing,
  jobs: { wake(): void },
  { type, period: asked }: { type: ReportType; period: string },
) {
  const period = periodOf(asked, ports.clock.now(), "body.period");
  const [report] = await queueReports({ ports, tx }, tenant, actor, [type], period);
  if (report === undefined) {
    const message =
      `${UNFINISHED_MAX} reports are already in progress. Wait until one has finished.`;
    throw new Fault("CONFLICT", message);
  }
  tx.afterCommit(() => jobs.wake());
  return showReport(report);
}

/** Queues a report of each type about a period; none when too many are unfinished. */
export async function queueReports(
  { ports, tx }: Pick<Writing, "ports" | "tx">,
  tenant: Tenant,
  requestedBy: string,
  types: readonly ReportType[],
  period: ReportRecord["period"],
): Promise<ReportRecord[]> {
  // The count is checked at the commit, the lists are not: a concurrent request makes all run again.
  const kept = await tx.count(reports, tenant);
  const { items: open } = await tx.list(reports, tenant, {
    index: "under_way",
    limit: UNFINISHED_MAX,
  });
  if (open.length + types.length > UNFINISHED_MAX) return [];
  const over = Math.max(0, kept + types.length - REPORTS_KEPT_MAX);
  const limit = { index: "finished", limit: over };
  const { items: oldest } = over === 0 ? { items: [] } : await tx.list(reports, tenant, limit);
  for (const { id } of oldest) await dropReport(tx, tenant, id);
  return types.map((type) =>
    tx.insert(reports, tenant, {
      id: ports.entropy.id("rep"),
      type,
      period,
      status: "queued",
      requested_by: requestedBy,
      created_at_ms: ports.clock.now(),
      finished_at_ms: null,
      failures: 0,
      scan: null,
      pack: null,
    })
  );
}

/** Deletes a report with its pack. */
export async function dropReport(tx: Tx, tenant: Tenant, id: string): Promise<void> {
  const report = await tx.get(reports, tenant, id);
  if (report === null) return;
  if (report.pack !== null) dropBlob(tx, tenant, report.pack.blob);
  tx.delete(reports, tenant, id);
}

/** A period as responses show it. */
export const showPeriod = ({ asked, from_ms, to_ms }: ReportRecord["period"]) => (
  { asked, from: iso(from_ms), to: iso(to_ms) }
);

/**
 * Reads the period of a report or of an archive of evidence; `where` is its path in the request.
 * @throws {Fault} VALIDATION_FAILED
 */
export const periodOf = (asked: string, nowMs: number, where: string): ReportRecord["period"] =>
  readPeriod(asked, nowMs, where).period;

/** A report as responses show it, without its pack. */
export function showReport(report: ReportRecord) {
  const { id, type, period, status, requested_by, created_at_ms, finished_at_ms, scan } = report;
  const read = scan === null ? 0 : scan.position - scan.start;
  const total = scan === null ? null : scan.size - scan.start;
  return {
    id,
    type,
    status,
    period: showPeriod(period),
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

/** A report and, once completed, its pack and signed note. */
export interface ReadReport extends ReturnType<typeof showReport> {
  readonly report: Pack | null;
  /** The signed note over the SHA-256 of the pack's canonical JSON. */
  readonly note: string | null;
  /** The key that signed the note. */
  readonly public_key: string;
}

/**
 * One report; without an id the newest completed one, or else the newest. The read is audited.
 * @throws {Fault} NOT_FOUND
 */
export async function readReport(work: Reading, id: string | undefined): Promise<ReadReport> {
  const { store, db, actor: { tenant } } = work;
  const record = id === undefined ? await newestReport(work) : await db.get(reports, tenant, id);
  if (record === null) {
    throw new Fault(
      "NOT_FOUND",
      id === undefined ? "There is no report yet. Generate one first." : undefined,
    );
  }
  const { pack } = record;
  const bytes = pack && await readBlob(store, tenant, pack.blob);
  if (pack !== null && bytes === null) throw new Fault("NOT_FOUND");
  await recordRead(work, "compliance_report_read", { report_id: record.id });
  return {
    ...showReport(record),
    report: bytes && JSON.parse(new TextDecoder().decode(bytes)) as Pack,
    note: pack?.note ?? null,
    public_key: keyText(signerOf(await auditKeyOf(work, tenant), pack?.note ?? "")),
  };
}

async function newestReport({ db, actor: { tenant } }: Reading): Promise<ReportRecord | null> {
  const finished = await db.list(reports, tenant, { index: "finished", limit: 20, reverse: true });
  const completed = finished.items.find(({ status }) => status === "completed");
  if (completed !== undefined) return completed;
  const { items: [newest] } = await db.list(reports, tenant, { limit: 1, reverse: true });
  return newest ?? null;
}
