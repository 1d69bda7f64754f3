import { adoptBlob, dropBlob, writeBlob } from "../../../kv/store/blob.ts";
import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { everyQueued } from "../../../kv/store/iterate.ts";
import { type ReportRecord, reports } from "../../../kv/records/report.ts";
import { emit, RELAY_ACTOR, WEBHOOK_EVENTS } from "../../events/events.ts";
import { JobRunner, stepEach } from "../../ports/ports.ts";
import type { Counted } from "./count.ts";
import { signedPack } from "./pack.ts";
import { beginScan, type ReportNeeds, type ScannedReport, stepScan } from "./scan.ts";

/** Reports read at once. */
const PAGE = 64;
/** A report fails after this many consecutive errors. */
const FAILURES_MAX = 5;

/**
 * Makes reports, one step of each in turn. The counts and the position of a step commit together, so a restart
 * continues there, and when two instances do the same step only one of them commits.
 */
export const reportRunner = (relay: ReportNeeds): JobRunner =>
  new JobRunner({
    ports: relay.ports,
    failure: "a compliance report was interrupted",
    search: stepEach(
      relay.ports,
      () => everyQueued(relay.store, reports, "unfinished", { limit: PAGE }),
      ({ record }) => record.id,
      ({ tenant, record }) =>
        stepReport(relay, tenant, record).catch(async (error) => {
          await countFailure(relay, tenant, record);
          throw error;
        }),
    ),
  });

/** Does the next step of a report. A step that another instance has already done changes nothing. */
export async function stepReport(
  relay: ReportNeeds,
  tenant: Tenant,
  report: ReportRecord,
): Promise<void> {
  const { scan } = report;
  if (scan === null) return await beginScan(relay, tenant, report);
  const counted = await stepScan(relay, tenant, { ...report, scan });
  if (counted !== null) await finish(relay, tenant, { ...report, scan }, counted);
}

async function finish(
  relay: ReportNeeds,
  tenant: Tenant,
  report: ScannedReport,
  counted: Counted,
): Promise<void> {
  const { store, ports } = relay;
  const { pack, bytes, sha256, note } = await signedPack(relay, tenant, report, counted);
  const blob = await writeBlob(store, tenant, ports.entropy.id("blb"), bytes);
  const { id, type, requested_by } = report;
  const details = WEBHOOK_EVENTS.compliance_report_generated.payload.parse({
    report_id: id,
    type,
    period: { from: pack.period.from.slice(0, 10), to: pack.period.to.slice(0, 10) },
    user: requested_by,
  });
  await store.transact(async (tx) => {
    const now = await tx.get(reports, tenant, id);
    if (now?.status !== "running") return;
    await adoptBlob(tx, tenant, blob);
    const { scan } = now;
    if (scan?.counted) dropBlob(tx, tenant, scan.counted);
    tx.put(reports, tenant, {
      ...now,
      status: "completed",
      finished_at_ms: ports.clock.now(),
      scan: scan && { ...scan, position: scan.size, counted: null },
      pack: { blob, sha256, note },
    });
    const resource = { type: "report", id } as const;
    emit({ ...relay, actor: { id: requested_by } }, tx, tenant, {
      type: "compliance_report_generated",
      resource,
      details,
    });
  });
}

async function countFailure(
  relay: ReportNeeds,
  tenant: Tenant,
  { id }: ReportRecord,
): Promise<void> {
  await relay.store.transact(async (tx) => {
    const report = await tx.get(reports, tenant, id);
    if (report === null || report.finished_at_ms !== null) return;
    const failures = report.failures + 1;
    if (failures < FAILURES_MAX) {
      tx.put(reports, tenant, { ...report, failures });
      return;
    }
    if (report.scan?.counted) dropBlob(tx, tenant, report.scan.counted);
    tx.put(reports, tenant, {
      ...report,
      failures,
      status: "failed",
      finished_at_ms: relay.ports.clock.now(),
      scan: report.scan && { ...report.scan, counted: null },
    });
    emit({ ...relay, actor: RELAY_ACTOR }, tx, tenant, {
      type: "compliance_report_failed",
      resource: { type: "report", id },
      details: { failures, log: tenantKey(tenant) },
    });
  });
}
