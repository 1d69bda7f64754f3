import { isImplausible } from "../../../kv/store/clock.ts";
import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { DAY_MS, HOUR_MS } from "../../../kv/store/durations.ts";
import { everyQueued } from "../../../kv/store/iterate.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import {
  type ReportRecord,
  reports,
  type ReportScheduleRecord,
  reportSchedules,
  type ReportType,
  type ScheduledEvery,
} from "../../../kv/records/report.ts";
import { iso, isoOrNull, monthsFrom } from "../../codec/codec.ts";
import { emit, RELAY_ACTOR } from "../../events/events.ts";
import type { Reading, Writing } from "../../work/work.ts";
import { dropReport, queueReports, REPORTS_KEPT_MAX, showPeriod } from "./reports.ts";
import type { ReportNeeds } from "./scan.ts";

/** The id of every schedule: each organization has one in each space. */
const ID = "schedule";
/** The time after a period's end until its reports: clocks of several instances may differ. */
const DELAY_MS = HOUR_MS;
/** The longest wait for a schedule: a quarter of 92 days, and the delay. */
const WAIT_MS_MAX = 93 * DAY_MS;
/** Schedules read at once. */
const PAGE = 64;
/** Old reports that one commit deletes. */
const DROPPED_MAX = 32;
const MONTHS: Readonly<Record<ScheduledEvery, number>> = { month: 1, quarter: 3 };

interface Schedule {
  /** Null for none. */
  readonly every: ScheduledEvery | null;
  readonly types: readonly ReportType[];
  readonly keep_days: number | null;
}

/** Sets or ends the schedule of an organization. The running period is the first that it reports. */
export async function setSchedule(
  { ports, actor, tx }: Writing,
  { every, types, keep_days }: Schedule,
) {
  const { tenant } = actor;
  const now = ports.clock.now();
  if (every === null) {
    if (await tx.get(reportSchedules, tenant, ID) !== null) tx.delete(reportSchedules, tenant, ID);
    return showSchedule(null);
  }
  return showSchedule(tx.put(reportSchedules, tenant, {
    id: ID,
    every,
    types: [...new Set(types)],
    keep_days,
    next_ms: periodAt(every, now).to_ms + 1 + DELAY_MS,
    set_by: actor.id,
    set_at_ms: now,
  }));
}

/** The schedule of an organization. */
export const readSchedule = async ({ db, actor }: Reading) =>
  showSchedule(await db.get(reportSchedules, actor.tenant, ID));

function showSchedule(schedule: ReportScheduleRecord | null) {
  return {
    every: schedule?.every ?? null,
    types: schedule?.types ?? [],
    keep_days: schedule?.keep_days ?? null,
    next_at: isoOrNull(schedule?.next_ms ?? null),
    set_by: schedule?.set_by ?? null,
    set_at: isoOrNull(schedule?.set_at_ms ?? null),
  };
}

/** The month or quarter of an instant, UTC. */
function periodAt(every: ScheduledEvery, atMs: number): ReportRecord["period"] {
  const [at, months] = [new Date(atMs), MONTHS[every]];
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  const first = month - month % months;
  const { fromMs: from_ms, toMs: to_ms } = monthsFrom(year, first + 1, months);
  const asked = every === "quarter"
    ? `${year}-Q${first / months + 1}`
    : `${iso(from_ms).slice(0, 10)}/${iso(to_ms).slice(0, 10)}`;
  return { asked, from_ms, to_ms };
}

type Making = Pick<ReportNeeds, "store" | "ports" | "signals">;

/**
 * Queues the reports of the periods that have ended. One commit queues them and moves the schedule on, so of several
 * instances one does it, once. A relay that was down makes up for each period that it missed, one in each round.
 */
export async function makeScheduledReports(
  relay: Making,
  jobs: { wake(): void },
): Promise<void> {
  const { store, ports } = relay;
  const before = [ports.clock.now() + 1];
  for await (
    const { tenant } of everyQueued(store, reportSchedules, "due", { limit: PAGE, before })
  ) {
    try {
      await store.transact((tx) => makeDue(relay, tx, tenant, jobs));
    } catch (error) {
      // It stays due, and the others go on.
      const { stack } = error as Error;
      ports.log.error("scheduled reports were not queued", {
        log: tenantKey(tenant),
        error: stack,
      });
    }
  }
  // The clock ran ahead when these were set: the present period is the next one.
  const { items: [last] } = await store.queued(reportSchedules, "due", { limit: 1, reverse: true });
  if (last === undefined || !isImplausible(last.record.next_ms, WAIT_MS_MAX, ports.clock.now())) {
    return;
  }
  await store.transact(async (tx) => {
    const schedule = await tx.get(reportSchedules, last.tenant, ID);
    if (schedule === null) return;
    const { to_ms } = periodAt(schedule.every, ports.clock.now());
    tx.put(reportSchedules, last.tenant, { ...schedule, next_ms: to_ms + 1 + DELAY_MS });
  });
}

async function makeDue(
  { ports, signals }: Making,
  tx: Tx,
  tenant: Tenant,
  jobs: { wake(): void },
): Promise<void> {
  const schedule = await tx.get(reportSchedules, tenant, ID);
  if (schedule === null || schedule.next_ms > ports.clock.now()) return;
  const { every, types, next_ms, keep_days } = schedule;
  const period = periodAt(every, next_ms - DELAY_MS - 1);
  const queued = await queueReports({ ports, tx }, tenant, RELAY_ACTOR.id, types, period);
  // It stays due while too many reports are unfinished.
  if (queued.length === 0) return;
  const following = periodAt(every, period.to_ms + 1);
  tx.put(reportSchedules, tenant, { ...schedule, next_ms: following.to_ms + 1 + DELAY_MS });
  for (const { id, type } of queued) {
    emit({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, {
      type: "compliance_report_requested",
      resource: { type: "report", id },
      details: { type, period: showPeriod(period) },
    });
  }
  if (keep_days !== null) await dropOlder(tx, tenant, ports.clock.now() - keep_days * DAY_MS);
  tx.afterCommit(() => jobs.wake());
}

/** Deletes reports of the schedule that were finished before an instant. Those that people requested stay. */
async function dropOlder(tx: Tx, tenant: Tenant, beforeMs: number): Promise<void> {
  const options = { index: "finished", limit: REPORTS_KEPT_MAX };
  const { items } = await tx.list(reports, tenant, options);
  const old = items.filter(({ requested_by, finished_at_ms }) =>
    requested_by === RELAY_ACTOR.id && finished_at_ms! < beforeMs
  );
  for (const { id } of old.slice(0, DROPPED_MAX)) await dropReport(tx, tenant, id);
}
