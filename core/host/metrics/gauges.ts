import { X509Certificate } from "node:crypto";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { approvals } from "../../../kv/records/approval.ts";
import { storeBytes } from "../../../kv/maintenance/disk.ts";
import { isFile } from "../../../kv/maintenance/location.ts";
import { readTally } from "../../../kv/store/tally.ts";
import type { EventLog } from "../../../kv/log/log.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Clock } from "../../../kv/store/clock.ts";
import { WAITING } from "../../agents/agents.ts";
import { readLedger } from "../../delivery/delivery.ts";
import { VERSION } from "../../protocol/protocol.ts";
import { lastBackupOf } from "../backup/last_backup.ts";
import { jobsDue } from "../health.ts";
import type { Family, Sample } from "./family.ts";

/** The parts of a relay that a scrape reads. */
export interface Measured {
  readonly store: Store;
  readonly log: EventLog;
  readonly ports: { readonly clock: Clock };
  readonly links: { readonly size: number };
  readonly commands: { readonly size: number };
  readonly deliveries: { readonly underWay: number };
  readonly usage: { readonly unwritten: number };
  readonly streams: { readonly size: number };
  readonly signIn: { readonly logins: Failing };
  readonly pairings: Failing;
  readonly deviceLogins: Failing;
  readonly settings: { readonly kv: string | null; readonly tls: { readonly cert: string } | null };
  readonly epoch: string;
  readonly startedAtMs: number;
}

/** Counts failed attempts to enter a secret. */
interface Failing {
  readonly failures: number;
}

/** Requests for approval that a scrape reads at most. */
const APPROVALS_MAX = 32;

/** The figures that are read at a scrape. Each takes a bounded number of reads. */
export async function figuresOf(parts: Measured, auditLagMs: number): Promise<Family[]> {
  const { store, ports: { clock }, settings, epoch } = parts;
  const nowMs = clock.now();
  const [waiting, oldestMs, due, ledger] = await Promise.all([
    readTally(store, SYSTEM, WAITING.name, WAITING.id),
    oldestApproval(parts),
    jobsDue(store, clock),
    readLedger(store),
  ]);
  const backup = lastBackupOf(settings.kv, epoch);
  return [
    gauge(
      "process_start_time_seconds",
      "The start time of this process, in Unix seconds.",
      parts.startedAtMs / 1000,
    ),
    gauge(
      "process_resident_memory_bytes",
      "The memory that this process holds.",
      Deno.memoryUsage().rss,
    ),
    gauge("relay_build_info", "Always 1; labelled with the running version.", [
      { labels: { version: VERSION }, value: 1 },
    ]),
    gauge("relay_agents_online", "Agents linked to this process.", parts.links.size),
    gauge(
      "relay_commands_under_way",
      "Commands running through this process.",
      parts.commands.size,
    ),
    gauge("relay_approvals_waiting", "Pending approval requests of the live space.", waiting),
    gauge(
      "relay_approval_oldest_age_seconds",
      `The age of the oldest pending approval request of the live space, of the ${APPROVALS_MAX} ` +
        "that lapse first; 0 without one.",
      Math.max(0, nowMs - (oldestMs ?? nowMs)) / 1000,
    ),
    gauge(
      "relay_event_streams_open",
      "Event streams open on this process.",
      parts.streams.size,
    ),
    gauge(
      "relay_audit_lag_seconds",
      "The age of the oldest numbered event that its audit tree lacks, of up to 64 trees that lack some; " +
        "0 without one.",
      auditLagMs / 1000,
    ),
    gauge(
      "relay_deliveries_under_way",
      "Webhook delivery attempts in progress.",
      parts.deliveries.underWay,
    ),
    gauge("relay_jobs_due", "Webhook deliveries that are due, up to 1000.", due),
    gauge(
      "relay_webhook_deliveries",
      "Webhook deliveries by state; accepted is the sum of all others.",
      Object.entries(ledger).map(([state, value]) => ({ labels: { state }, value })),
    ),
    gauge(
      "relay_usage_unwritten_keys",
      "API keys whose usage counts are not yet stored.",
      parts.usage.unwritten,
    ),
    ...isFile(settings.kv)
      ? [gauge(
        "relay_store_size_bytes",
        "The size of the store's file with its write-ahead log.",
        storeBytes(settings.kv),
      )]
      : [],
    ...backup === undefined ? [] : [gauge(
      "relay_last_backup_timestamp_seconds",
      "When the newest complete backup was taken, in Unix seconds; 0 without one.",
      backup === null ? 0 : Date.parse(backup) / 1000,
    )],
    ...settings.tls === null ? [] : [gauge(
      "relay_certificate_expiry_timestamp_seconds",
      "When the certificate that this process serves expires, in Unix seconds.",
      Date.parse(new X509Certificate(settings.tls.cert).validTo) / 1000,
    )],
    counter(
      "relay_sign_in_failures_total",
      "Wrong secrets: passwords and codes of people (login), pairing codes of devices (pairing), " +
        "and codes of terminals (device_login).",
      Object.entries({
        login: parts.signIn.logins,
        pairing: parts.pairings,
        device_login: parts.deviceLogins,
      }).map(([kind, { failures }]) => ({ labels: { kind }, value: failures })),
    ),
    counter(
      "relay_store_cache_evictions_total",
      "Records that the read cache dropped to make room, by collection.",
      [...store.cacheEvictions()].map(([collection, value]) => ({ labels: { collection }, value })),
    ),
  ];
}

/** When the oldest of the requests that lapse first was made, in ms; null without one. */
async function oldestApproval({ store }: Measured): Promise<number | null> {
  const { items } = await store.queued(approvals, "pending", { limit: APPROVALS_MAX });
  const made = items.filter(({ tenant }) => tenant.space === "live")
    .map(({ record }) => record.created_at_ms);
  return made.length === 0 ? null : Math.min(...made);
}

const gauge = (name: string, help: string, value: number | readonly Sample[]): Family => ({
  name,
  help,
  type: "gauge",
  values: typeof value === "number" ? [{ value }] : value,
});

const counter = (name: string, help: string, values: readonly Sample[]): Family => ({
  name,
  help,
  type: "counter",
  values,
});
