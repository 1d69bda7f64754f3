import type { Stepping } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { SHIELD_SOURCE } from "./denied.ts";
import { readReports } from "./report.ts";
import { takeReports } from "./take_all.ts";

/**
 * Imports alerts: the same one again changes the one that is there. Malformed ones are told by their place,
 * all others are taken.
 * @throws {Fault} VALIDATION_FAILED for the shield's own source
 */
export async function ingestAlerts(
  work: Stepping,
  { source, alerts }: { source: string; alerts: readonly unknown[] },
) {
  if (source === SHIELD_SOURCE) {
    throw new Fault("VALIDATION_FAILED", "Only the shield itself reports as this source.", {
      issues: [{ path: "body.source", message: "is reserved" }],
    });
  }
  const { actor } = work;
  const { reports, errors } = await readReports(alerts);
  const { created, updated, resolved } = await takeReports(
    { ...work, tenant: actor.tenant },
    { source, delivery: null },
    reports,
    {
      details: { stored: reports.length, malformed: errors.length },
      always: true,
      inLast: (tx) => work.recordUse(tx, 200),
    },
  );
  return { stored: reports.length, created, updated, resolved, errors };
}
