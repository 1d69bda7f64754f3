/**
 * Compliance reports: evidence packs that count the rows of the audit log for a period, against a signed
 * checkpoint. A report is made in steps by a job on any instance; all its state is in the store, and each step
 * commits its counts with its position, so a restart loses at most one step and no row is counted twice.
 */

export type { Access } from "./access_review.ts";
export type { DecidedApproval, Exception, Pointer } from "./count.ts";
export type { ControlResult, Pack, QueryResult } from "./pack.ts";
export type { PoliciesInForce } from "./policies_in_force.ts";
export { reportRounds } from "./report_jobs.ts";
export { listReports, type ReadReport, readReport, requestReport } from "./reports.ts";
