import { SYSTEM } from "../../kv/store/collection.ts";
import { readTally } from "../../kv/store/tally.ts";
import { agentsByStatus, WAITING } from "../agents/agents.ts";
import type { Work } from "../work/work.ts";
import { DAY_MS, HOUR_MS } from "../../kv/store/durations.ts";
import { iso } from "../codec/codec.ts";
import { homeOf } from "../access/access.ts";
import type { Activity, NamedHours } from "./activity.ts";
import { medianWait } from "../events/events.ts";

const HOURS_SHOWN = 24;
const DAYS_SHOWN = 30;

/** Totals by name. */
type Sums = Map<string, number>;

/**
 * Figures of the last hours and days. The host sees the whole installation, another organization itself.
 * They come from counters, so the cost does not depend on the number of events.
 */
export async function dashboardStats({ store, ports, actor }: Work, activity: Activity) {
  const whose = actor.host ? SYSTEM : homeOf(actor.tenant.org);
  const now = ports.clock.now();
  const todayMs = Math.floor(now / DAY_MS) * DAY_MS;
  const firstDayMs = todayMs - (DAYS_SHOWN - 1) * DAY_MS;
  const firstHourMs = Math.floor(now / HOUR_MS) * HOUR_MS - (HOURS_SHOWN - 1) * HOUR_MS;
  const [agents, waiting, days] = await Promise.all([
    agentsByStatus(store, whose),
    readTally(store, whose, WAITING.name, WAITING.id),
    activity.days(whose, firstDayMs, todayMs + DAY_MS),
  ]);
  const byHour = rows(firstHourMs, HOURS_SHOWN, HOUR_MS);
  const byDay = rows(firstDayMs, DAYS_SHOWN, DAY_MS);
  for (const { dayMs, value } of days) addDay(byHour, byDay, dayMs, value);
  return {
    scope: actor.host ? "installation" as const : "organization" as const,
    generated_at: iso(now),
    agents: { ...agents, total: agents.online + agents.degraded + agents.offline },
    approvals_waiting: waiting,
    last_24_hours: figures(together(byHour)),
    last_30_days: figures(together(byDay)),
    by_hour: [...byHour].map(([ms, sums]) => ({ start: iso(ms), ...figures(sums) })),
    by_day: [...byDay].map(([ms, sums]) => ({ start: iso(ms), ...figures(sums) })),
  };
}

function rows(firstMs: number, n: number, stepMs: number): Map<number, Sums> {
  return new Map(Array.from({ length: n }, (_, at) => [firstMs + at * stepMs, new Map()]));
}

function addDay(
  byHour: Map<number, Sums>,
  byDay: Map<number, Sums>,
  dayMs: number,
  names: NamedHours,
): void {
  const day = byDay.get(dayMs);
  for (const [name, hours] of names) {
    hours.forEach((n, hour) => {
      if (n === 0) return;
      for (const sums of [day, byHour.get(dayMs + hour * HOUR_MS)]) {
        sums?.set(name, (sums.get(name) ?? 0) + n);
      }
    });
  }
}

function together(of: ReadonlyMap<number, Sums>): Sums {
  const all: Sums = new Map();
  for (const sums of of.values()) {
    for (const [name, n] of sums) all.set(name, (all.get(name) ?? 0) + n);
  }
  return all;
}

function figures(sums: Sums) {
  const requests = group(sums, "requests");
  const waits = group(sums, "waits");
  return {
    requests: requests.all ?? 0,
    client_errors: requests.client_errors ?? 0,
    server_errors: requests.server_errors ?? 0,
    commands: group(sums, "commands"),
    deliveries: group(sums, "deliveries"),
    denials: group(sums, "denials"),
    approvals_decided: Object.values(waits).reduce((sum, n) => sum + n, 0),
    median_wait_seconds: medianWait(waits),
  };
}

/** The totals whose names begin with `<kind>.`, by the rest of the name. */
function group(sums: Sums, kind: string): Record<string, number> {
  const own = [...sums].filter(([name]) => name.startsWith(`${kind}.`));
  return Object.fromEntries(own.map(([name, n]) => [name.slice(kind.length + 1), n]));
}
