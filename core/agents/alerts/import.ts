import type { Stepping } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { SHIELD_SOURCE } from "./denied.ts";
import { readReports, type ReportError } from "./report.ts";
import { recordReports } from "./record_all.ts";

/**
 * Imports alerts; a repeated one updates its alert. Malformed alerts are reported by their index, all others are
 * stored.
 * @throws {Fault} VALIDATION_FAILED for the shield's own source, and when none of the alerts can be read
 */
export async function ingestAlerts(
  work: Stepping,
  { source, alerts }: { source: string; alerts: readonly unknown[] },
) {
  if (source === SHIELD_SOURCE) {
    throw new Fault(
      "VALIDATION_FAILED",
      "Only the shield itself may report as this source. Choose another `source`.",
      {
        issues: [{ path: "body.source", message: "is reserved" }],
      },
    );
  }
  const { actor } = work;
  const { reports, errors } = await readReports(alerts);
  if (reports.length === 0 && errors.length > 0) throw allMalformed(errors);
  const { created, updated, resolved } = await recordReports(
    { ...work, tenant: actor.tenant },
    { source, delivery: null },
    reports,
    {
      details: { stored: reports.length, malformed: errors.length },
      always: true,
      inLast: (tx) => work.recordUse(tx, 200),
    },
  );
  const accepted = reports.length;
  return {
    accepted,
    rejected: errors.length,
    stored: accepted,
    created,
    updated,
    resolved,
    errors,
  };
}

/** Malformed alerts that a refusal names; it also holds their number. */
const ISSUES_MAX = 100;

function allMalformed(errors: readonly ReportError[]): Fault {
  const { index, message } = errors[0]!;
  return new Fault(
    "VALIDATION_FAILED",
    `None of the ${errors.length} alerts can be read, so nothing was stored. Alert ${index}: ` +
      `${message}`,
    {
      accepted: 0,
      rejected: errors.length,
      issues: errors.slice(0, ISSUES_MAX)
        .map(({ index, message }) => ({ path: `body.alerts.${index}`, message })),
    },
  );
}
