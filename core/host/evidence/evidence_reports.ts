import type { Tenant } from "../../../kv/store/collection.ts";
import { REPORT_TYPES, type ReportRecord } from "../../../kv/records/report.ts";
import { readStatement } from "../../protocol/protocol.ts";
import { countedNothing } from "../compliance/count.ts";
import { type ReadReport, showReport } from "../compliance/reports.ts";
import { countRows, rangeOf, type ReportNeeds, wantedBy } from "../compliance/scan.ts";
import { signedPack } from "../compliance/pack.ts";

/** What the reports of an archive are about. */
export interface ReportSubject {
  /** The archive's id, with which those of its reports begin. */
  readonly id: string;
  readonly period: ReportRecord["period"];
  readonly checkpoint: string;
  /** The key that signed the checkpoint. */
  readonly publicKey: string;
  readonly requestedBy: string;
}

/**
 * A report of every type about one period and one checkpoint. All count in one pass over the log, and none is stored:
 * they are as long in the archive as the archive exists.
 */
export async function* evidenceReports(
  relay: ReportNeeds,
  tenant: Tenant,
  { id, period, checkpoint, requestedBy, publicKey }: ReportSubject,
): AsyncGenerator<ReadReport> {
  const { size } = readStatement(checkpoint)!;
  const { start } = await rangeOf(relay, tenant, period, checkpoint);
  const counts = REPORT_TYPES.map((type) => ({
    type,
    counted: countedNothing(),
    wanted: wantedBy(type),
  }));
  await countRows(relay, tenant, period, start, size, counts);
  const now = relay.ports.clock.now();
  for (const { type, counted } of counts) {
    const record = {
      id: `${id}_${type}`,
      type,
      period,
      status: "completed",
      requested_by: requestedBy,
      created_at_ms: now,
      finished_at_ms: now,
      failures: 0,
      scan: { checkpoint, size, start, position: size, counted: null },
      pack: null,
    } as const;
    const { pack, sha256, note } = await signedPack(relay, tenant, record, counted);
    yield { ...showReport(record), sha256, report: pack, note, public_key: publicKey };
  }
}
