import { adoptBlob, dropBlob, writeBlob } from "../../kv/store/blob.ts";
import { type Tenant, tenantKey } from "../../kv/store/collection.ts";
import { BLOB_BYTES_MAX } from "../../kv/store/limits.ts";
import { type ReportRecord, reports } from "../../kv/records/report.ts";
import type { App } from "../work/work.ts";
import { auditKeyOf, originOf } from "../events/trail/keys.ts";
import { readStatement, signNote } from "../protocol/checkpoints/note.ts";
import { canonicalJson } from "../codec/canonical.ts";
import { emit, RELAY_ACTOR } from "../events/events.ts";
import { iso } from "../codec/instant.ts";
import { Rounds } from "../ports/rounds.ts";
import { sha256Hex } from "../codec/text.ts";
import { WEBHOOK_EVENTS } from "../events/types/webhook_events.ts";
import type { Counted } from "./count.ts";
import { makePack, type Pack } from "./pack.ts";
import { beginScan, type Begun, stepScan } from "./scan.ts";

/** Reports that are worked on in turn. */
const UNFINISHED_READ = 64;
/** After so many errors a report is given up. */
const FAILURES_MAX = 5;
/** Users, keys, approvals and exceptions that a report lists at most, each. */
const LISTED_MAX = 1_000;

/**
 * Makes reports, a step of each in turn. What a step has counted and how far it has come commit together, so
 * a crash goes on where it was, and of two instances that do the same step one is in vain.
 */
export const reportRounds = (appOf: () => App): Rounds =>
  new Rounds({
    clock: () => appOf().ports.clock,
    complain: (error) =>
      appOf().ports.log.error("a compliance report was interrupted", { error: String(error) }),
    async round(rounds) {
      const app = appOf();
      const { items } = await app.store.queued(reports, "unfinished", { limit: UNFINISHED_READ });
      let more = false;
      for (const { tenant, record } of items) {
        if (rounds.stopped) break;
        try {
          await stepReport(app, tenant, record);
          more = true;
        } catch (error) {
          await countFailure(app, tenant, record);
          rounds.tryLater(error);
        }
      }
      return more;
    },
  });

/** The next step of a report; one that another instance has made already changes nothing. */
export async function stepReport(app: App, tenant: Tenant, report: ReportRecord): Promise<void> {
  const { scan } = report;
  if (scan === null) return await beginScan(app, tenant, report);
  const counted = await stepScan(app, tenant, { ...report, scan });
  if (counted !== null) await finish(app, tenant, { ...report, scan }, counted);
}

async function finish(
  app: App,
  tenant: Tenant,
  report: Begun,
  counted: Counted,
): Promise<void> {
  const { store, ports } = app;
  const { pack, bytes, sha256 } = await fittingPack(app, tenant, report, counted);
  const key = await auditKeyOf(app, tenant);
  const note = signNote(noteText(tenant, pack, sha256), key, key.privateKey);
  const blob = await writeBlob(store, tenant, ports.entropy.id("blb"), bytes);
  const { id, type, period, requested_by } = report;
  const details = WEBHOOK_EVENTS.compliance_report_generated.payload.parse({
    report_id: id,
    type,
    period: { from: iso(period.from_ms).slice(0, 10), to: iso(period.to_ms).slice(0, 10) },
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
    emit({ ports: app.ports, signals: app.signals, actor: { id: requested_by } }, tx, tenant, {
      type: "compliance_report_generated",
      resource,
      details,
    });
  });
}

/** A pack that one blob holds: the more there is to say of each listed thing, the fewer are listed. */
async function fittingPack(app: App, tenant: Tenant, report: Begun, counted: Counted) {
  for (let listedMax = LISTED_MAX;; listedMax = Math.floor(listedMax / 2)) {
    const pack = await makePack(app, tenant, report, counted, listedMax);
    const json = canonicalJson(pack);
    const bytes = new TextEncoder().encode(json);
    if (bytes.length <= BLOB_BYTES_MAX || listedMax === 0) {
      return { pack, bytes, sha256: sha256Hex(json) };
    }
  }
}

/** What is signed of a pack: its digest, and what it is about. */
function noteText(tenant: Tenant, pack: Pack, sha256: string): string {
  const { size, root } = readStatement(pack.log.checkpoint)!;
  return [
    pack.format,
    originOf(tenant),
    `report ${pack.id} ${pack.type}`,
    `period ${pack.period.from} ${pack.period.to}`,
    `generated ${pack.generated_at}`,
    `checkpoint ${size} ${root.toBase64()}`,
    `sha256 ${sha256}`,
    "",
  ].join("\n");
}

async function countFailure(app: App, tenant: Tenant, { id }: ReportRecord): Promise<void> {
  await app.store.transact(async (tx) => {
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
      finished_at_ms: app.ports.clock.now(),
      scan: report.scan && { ...report.scan, counted: null },
    });
    emit({ ports: app.ports, signals: app.signals, actor: RELAY_ACTOR }, tx, tenant, {
      type: "compliance_report_failed",
      resource: { type: "report", id },
      details: { failures, log: tenantKey(tenant) },
    });
  });
}
