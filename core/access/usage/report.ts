import { ownedKey, tenantOfKey } from "../keys/owned.ts";
import type { Work } from "../../work/work.ts";
import { DAY_MS, HOUR_MS } from "../../../kv/store/durations.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import type { Hours } from "../../../kv/store/series.ts";
import type { StoredDay } from "./day.ts";
import { stepsOf } from "./steps.ts";
import type { Usage } from "./usage.ts";

/** Agents and endpoints in an answer. */
const TOP = 10;

/**
 * The usage of a key in a period, by whole hours or UTC days, the current one included.
 * @throws {Fault} NOT_FOUND, VALIDATION_FAILED
 */
export async function getUsage(
  work: Work,
  usage: Pick<Usage, "days" | "lastUsed">,
  id: string,
  asked: string,
) {
  const key = await ownedKey(work, id, "system:read");
  const home = tenantOfKey(work, key);
  const now = work.ports.clock.now();
  const { steps, stepMs, fromMs, toMs, complete } = stepsOf(asked, now);
  const days = await usage.days(home, id, Math.floor(fromMs / DAY_MS) * DAY_MS, toMs);

  const series = Array.from({ length: steps }, (_, step) => ({
    from: iso(fromMs + step * stepMs),
    requests: 0,
    mcp_calls: 0,
    rate_limit_hits: 0,
  }));
  const agents = new Map<string, number>(), endpoints = new Map<string, number>();
  for (const { dayMs, value } of days) {
    const within = { dayMs, fromMs, toMs };
    eachHour(value.requests, within, (at, n) => series[stepOf(at)]!.requests += n);
    eachHour(value.mcp_calls, within, (at, n) => series[stepOf(at)]!.mcp_calls += n);
    eachHour(value.rate_limited, within, (at, n) => series[stepOf(at)]!.rate_limit_hits += n);
    addNames(agents, value.agents, within);
    addNames(endpoints, value.endpoints, within);
  }
  function stepOf(atMs: number): number {
    return Math.floor((atMs - fromMs) / stepMs);
  }

  const sum = (of: "requests" | "mcp_calls" | "rate_limit_hits") =>
    series.reduce((all, step) => all + step[of], 0);
  const total_requests = sum("requests");
  return {
    key_id: key.id,
    name: key.name,
    period: { from: dateOf(Math.min(fromMs, toMs - 1)), to: dateOf(Math.min(now, toMs - 1)) },
    complete,
    total_requests,
    total_mcp_calls: sum("mcp_calls"),
    avg_requests_per_day: steps === 0 ? 0 : Math.round(total_requests * DAY_MS / (steps * stepMs)),
    rate_limit_hits: sum("rate_limit_hits"),
    last_used_at: isoOrNull(await usage.lastUsed(home, id)),
    top_agents: top(agents).map(([agent_id, requests]) => ({ agent_id, requests })),
    top_endpoints: top(endpoints).map(([endpoint, calls]) => ({ endpoint, calls })),
    series,
  };
}

interface Within {
  readonly dayMs: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The counts of a day within a period, each with the start of its hour. */
function eachHour(
  hours: Hours,
  { dayMs, fromMs, toMs }: Within,
  take: (atMs: number, n: number) => void,
): void {
  hours.forEach((n, hour) => {
    const atMs = dayMs + hour * HOUR_MS;
    if (n > 0 && atMs >= fromMs && atMs < toMs) take(atMs, n);
  });
}

function addNames(sums: Map<string, number>, names: StoredDay["agents"], within: Within): void {
  for (const [name, hours] of names) {
    eachHour(hours, within, (_, n) => sums.set(name, (sums.get(name) ?? 0) + n));
  }
}

/** The most used ones; equal counts by name. */
function top(sums: ReadonlyMap<string, number>): [string, number][] {
  return [...sums].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, TOP);
}

const dateOf = (ms: number): string => iso(ms).slice(0, "2030-01-31".length);
