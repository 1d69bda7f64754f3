import type { Tenant } from "../../../kv/store/collection.ts";
import { ALERT_SEVERITIES, alerts } from "../../../kv/records/alert.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Actor, App, RequestInfo } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { alertIdOf, type Origin, type Outcome, takeReport } from "./take.ts";
import type { Report } from "./report.ts";

/** Each report costs a check, of which a shared store takes 10 a commit, and at most 10 keys of 130 bytes. */
const BATCH_SOLE = 48;
const BATCH_SHARED = 8;
/** Two bytes a character at the worst, and a commit takes 800 KiB. */
const BATCH_CHARS_MAX = 200_000;
/** Batches that are read while others are written. */
const TOGETHER = 3;

/** How many reports had which outcome; an alert that is opened again counts as updated. */
export type Counts = Readonly<Record<Exclude<Outcome, "reopened">, number>>;

interface Taking {
  readonly app: App;
  readonly actor: Pick<Actor, "id">;
  readonly tenant: Tenant;
  readonly request: Pick<RequestInfo, "id">;
}

/** What else the audit trail says of a request, and what joins its last commit. */
interface Closing {
  readonly details: Readonly<Record<string, unknown>>;
  /** True when the trail says something even if nothing has changed. */
  readonly always: boolean;
  readonly inLast?: (tx: Tx) => void;
}

/**
 * Puts many reports on record in bounded commits, and one event with their counts after them. What was
 * taken before a crash is taken as known when the request comes again.
 */
export async function takeReports(
  { app, actor, tenant, request }: Taking,
  { source, delivery }: Pick<Origin, "source" | "delivery">,
  reports: readonly Report[],
  { details, always, inLast }: Closing,
): Promise<Counts> {
  const counts = { created: 0, updated: 0, resolved: 0, repeated: 0 };
  const raised: Report[] = [], ended: Report[] = [];
  const batches = batchesOf(merged(reports), app.store.sole ? BATCH_SOLE : BATCH_SHARED);
  const take = async () => {
    for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
      const mine = batch;
      const outcomes = await app.store.transact(async (tx) => {
        // All at once, so that each is then answered from what was read here.
        await Promise.all(
          mine.map(({ report: { fingerprint } }) =>
            tx.get(alerts, tenant, alertIdOf(tenant, source, fingerprint))
          ),
        );
        const all: Outcome[] = [];
        for (const { report, times } of mine) {
          const origin = { source, by: actor.id, delivery, times };
          all.push(await takeReport(app, tx, tenant, origin, report));
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
  await Promise.all(Array.from({ length: TOGETHER }, take));
  const { repeated, ...changed } = counts;
  const worthSaying = always || Object.values(changed).some((n) => n > 0);
  if (worthSaying || inLast !== undefined) {
    await app.store.transact((tx) => {
      if (worthSaying) {
        emit({ ports: app.ports, signals: app.signals, actor, request }, tx, tenant, {
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

/** Alerts that the event names of those that opened, and of those that ended. */
const NAMED_MAX = 20;
const NAME_CHARS_SHOWN = 100; // an event has room for 60 KiB

/** The worst ones first. */
function named(tenant: Tenant, source: string, reports: readonly Report[]) {
  const rank = ({ severity }: Report) => ALERT_SEVERITIES.indexOf(severity);
  const worst = reports.toSorted((a, b) => rank(b) - rank(a)).slice(0, NAMED_MAX);
  return worst.map(({ name, severity, fingerprint }) => ({
    alert_id: alertIdOf(tenant, source, fingerprint),
    name: [...name].slice(0, NAME_CHARS_SHOWN).join(""),
    severity,
  }));
}

interface Merged {
  readonly report: Report;
  readonly times: number;
}

/** One report for each fingerprint: the last one, and how often it was there. */
function merged(reports: readonly Report[]): Merged[] {
  const all = new Map<string, Merged>();
  for (const report of reports) {
    const times = (all.get(report.fingerprint)?.times ?? 0) + 1;
    all.set(report.fingerprint, { report, times });
  }
  return [...all.values()];
}

/** Batches in an order that lets `pop` take the first one first. */
function batchesOf(items: readonly Merged[], countMax: number): Merged[][] {
  let batch: Merged[] = [], chars = 0;
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
