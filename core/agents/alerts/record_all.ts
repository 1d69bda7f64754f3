import type { Tenant } from "../../../kv/store/collection.ts";
import { ALERT_SEVERITIES, alerts } from "../../../kv/records/alert.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Actor, RequestInfo } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { agentIdOf } from "../names.ts";
import { emit } from "../../events/events.ts";
import { alertIdOf, type Origin, recordReport, type ReportOutcome } from "./record.ts";
import type { Report } from "./report.ts";

/** Each report costs one check and up to 10 keys of 130 bytes; a shared store takes 10 checks a commit. */
const BATCH_SOLE = 48;
const BATCH_SHARED = 8;
/** A character takes up to two bytes, and a commit holds 800 KiB. */
const BATCH_CHARS_MAX = 200_000;
/** Batches that are processed at the same time. */
const CONCURRENCY = 3;

/** The number of reports by outcome; a reopened alert counts as updated. */
export type Counts = Readonly<Record<Exclude<ReportOutcome, "reopened">, number>>;

interface Taking extends Pick<Context, "store" | "ports" | "signals"> {
  readonly actor: Pick<Actor, "id">;
  readonly tenant: Tenant;
  readonly request: Pick<RequestInfo, "id">;
}

/** Further details of the event, and further writes in its commit. */
interface Closing {
  readonly details: Readonly<Record<string, unknown>>;
  /** True when the event is written even if nothing has changed. */
  readonly always: boolean;
  readonly inLast?: (tx: Tx) => void;
}

/**
 * Records many reports in bounded commits, then one event with their counts. After a crash, reports that were
 * recorded count as known when the request is repeated.
 */
export async function recordReports(
  { ports, signals, store, actor, tenant, request }: Taking,
  { source, delivery }: Pick<Origin, "source" | "delivery">,
  reports: readonly Report[],
  { details, always, inLast }: Closing,
): Promise<Counts> {
  const counts = { created: 0, updated: 0, resolved: 0, repeated: 0 };
  const raised: Report[] = [], ended: Report[] = [];
  const batches = batchesOf(distinct(reports), store.sole ? BATCH_SOLE : BATCH_SHARED);
  const take = async () => {
    for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
      const mine = await Promise.all(batch.map((each) => withAgentId(store, tenant, each)));
      const outcomes = await store.transact(async (tx) => {
        // Reads all alerts at once; later reads in this transaction are answered from memory.
        await Promise.all(
          mine.map(({ report: { fingerprint } }) =>
            tx.get(alerts, tenant, alertIdOf(tenant, source, fingerprint))
          ),
        );
        const all: ReportOutcome[] = [];
        for (const { report, times } of mine) {
          const origin = { source, by: actor.id, delivery, times };
          all.push(await recordReport(ports, tx, tenant, origin, report));
        }
        return all;
      });
      outcomes.forEach((outcome, at) => {
        const { report } = mine[at]!;
        counts[outcome === "reopened" ? "updated" : outcome]++;
        if (outcome === "resolved") ended.push(report);
        else if (outcome === "reopened" || outcome === "created" && report.state === "active") {
          raised.push(report);
        }
      });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, take));
  const { repeated, ...changed } = counts;
  const isWritten = always || Object.values(changed).some((n) => n > 0);
  if (isWritten || inLast !== undefined) {
    await store.transact((tx) => {
      if (isWritten) {
        emit({ ports, signals, actor, request }, tx, tenant, {
          type: "alerts_ingested",
          resource: { type: "alert_source", id: source },
          details: {
            source,
            ...counts,
            ...details,
            ...(raised.length > 0 &&
              { opened: raised.length, raised: named(tenant, source, raised) }),
            ...(ended.length > 0 && { ended: named(tenant, source, ended) }),
          },
        });
      }
      inLast?.(tx);
    });
  }
  return { ...changed, repeated };
}

/** Maximum number of opened alerts, and of ended alerts, that the event names. */
const NAMED_MAX = 20;
const NAME_CHARS_SHOWN = 100; // an event has room for 60 KiB

/** Sorted by severity, the worst first. */
function named(tenant: Tenant, source: string, reports: readonly Report[]) {
  const rank = ({ severity }: Report) => ALERT_SEVERITIES.indexOf(severity);
  const worst = reports.toSorted((a, b) => rank(b) - rank(a)).slice(0, NAMED_MAX);
  return worst.map(({ name, severity, fingerprint }) => ({
    alert_id: alertIdOf(tenant, source, fingerprint),
    name: [...name].slice(0, NAME_CHARS_SHOWN).join(""),
    severity,
  }));
}

interface RepeatedReport {
  readonly report: Report;
  readonly times: number;
}

/** The report with the id of the agent that its source calls by name. */
async function withAgentId(
  store: Context["store"],
  tenant: Tenant,
  { report, times }: RepeatedReport,
): Promise<RepeatedReport> {
  const agentId = report.agentId && await agentIdOf(store, tenant, report.agentId);
  return { report: { ...report, agentId }, times };
}

/** The last report of each fingerprint, and how many there were. */
function distinct(reports: readonly Report[]): RepeatedReport[] {
  const all = new Map<string, RepeatedReport>();
  for (const report of reports) {
    const times = (all.get(report.fingerprint)?.times ?? 0) + 1;
    all.set(report.fingerprint, { report, times });
  }
  return [...all.values()];
}

/** Batches in reverse, so that `pop` takes the first. */
function batchesOf(items: readonly RepeatedReport[], countMax: number): RepeatedReport[][] {
  let batch: RepeatedReport[] = [], chars = 0;
  const batches = [batch];
  for (const item of items) {
    const length = JSON.stringify(item.report).length;
    if (batch.length === countMax || (batch.length > 0 && chars + length > BATCH_CHARS_MAX)) {
      batches.push(batch = []);
      chars = 0;
    }
    batch.push(item);
    chars += length;
  }
  return batches.reverse();
}
