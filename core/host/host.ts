/**
 * The running of an installation and the evidence about it: accounts, plans and subscriptions, the configuration in
 * force, health, metrics and the dashboard, periodic tasks, the secrets that seal the store, backups of it, and
 * compliance reports.
 *
 * A compliance report counts the rows of the audit log for a period, against a signed checkpoint. Jobs make it in
 * steps on any instance; each step commits its counts with its position, so a restart loses at most one step and no
 * row is counted twice.
 *
 * State in memory belongs to one instance: its metrics, its configuration as last loaded, and counts
 * that are in the store within a second.
 */

export { accessRule, logAccess } from "./access_log.ts";
export {
  changePlan,
  listAccounts,
  listOrders,
  listSubscriptions,
  switchAccount,
} from "./accounts.ts";
export { Activity } from "./activity.ts";
export { writeBackup } from "./backup/backup.ts";
export { addBackup } from "./backup/keep.ts";
export { examineFile, examineServer } from "./backup/examine.ts";
export {
  type AddressState,
  type Finding,
  judgeAddress,
  judgeCertificate,
} from "./backup/findings.ts";
export { noteBackup } from "./backup/last_backup.ts";
export { type Manifest, STORE_FILE } from "./backup/manifest.ts";
export { restoreBackup } from "./backup/restore.ts";
export { ScheduledBackups } from "./backup/schedule.ts";
export { ActiveConfiguration } from "./configuration/active.ts";
export { reloadConfig, showConfig } from "./configuration/rules.ts";
export { dashboardStats } from "./dashboard.ts";
export { health } from "./health.ts";
export { Housekeeping, runAll, type Tasks } from "./housekeeping.ts";
export { Metrics } from "./metrics/metrics.ts";
export { createPlan, deletePlan, listPlans, updatePlan } from "./plans/plans.ts";
export { seedPlans } from "./plans/seed.ts";
export { logTrouble, withoutRepeats } from "./store_trouble.ts";
export { subscribe } from "./plans/subscribe.ts";
export {
  nextSecret,
  promoteSecret,
  readSecret,
  secretPath,
  type Secrets,
  secretsKnown,
  secretsOf,
} from "./secrets/file.ts";
export { admitSecrets, isSealed } from "./secrets/installation.ts";
export { listSecrets, SECRET_TYPES } from "./secrets/list.ts";
export { rotateSecret, type RotationProgress } from "./secrets/rotate.ts";
export { KEY_KINDS, type KeyKind, rotateKeys, type Rotation } from "./secrets/rotate_keys.ts";
export type { Access } from "./compliance/access_review.ts";
export type { DecidedApproval, Exception, Pointer } from "./compliance/count.ts";
export type { ControlResult, Pack, QueryResult } from "./compliance/pack.ts";
export type { PoliciesInForce } from "./compliance/policies_in_force.ts";
export { reportRunner } from "./compliance/report_jobs.ts";
export { takeEvidence } from "./evidence/evidence.ts";
export { makeScheduledReports, readSchedule, setSchedule } from "./compliance/schedule.ts";
export { listReports, type ReadReport, readReport, requestReport } from "./compliance/reports.ts";
