import { X509Certificate } from "node:crypto";
import type { FileSize } from "../../../kv/maintenance/file.ts";
import type { KeyParts } from "../../../kv/store/collection.ts";
import { isWithin } from "../../../kv/store/clock.ts";
import { newestSchema } from "../../../kv/maintenance/migrations.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../kv/store/durations.ts";
import { iso, type Sealer } from "../../codec/codec.ts";

/** The result of one check. The texts of `note` (it works) and `fault` (it does not) say what to do. */
export interface Finding {
  readonly name: string;
  readonly state: "ok" | "note" | "fault";
  readonly text: string;
}

const MIB = 1024 * 1024;
/** The largest clock difference between instances that counting open connections tolerates. */
const CLOCK_SLACK_MS = 15_000;
/** The free space that the log of a busy relay needs. */
export const FREE_BYTES_MIN = 256 * MIB;
/** Compacting is worthwhile from this size on, when half of the file is unused. */
const UNUSED_BYTES = 64 * MIB;
/** A delivery that is overdue for longer is stuck, or its webhook cannot keep up. */
const LATE_MS = 15 * MINUTE_MS;
/** The engine removes expired rows each minute, so rows this old mean that no relay ran. */
const OVERDUE_MS = DAY_MS;
/** A store whose newest backup is older should have a schedule. */
const UNSCHEDULED_MS = 7 * DAY_MS;
/** Rights of the group and of others. */
const OTHERS = 0o077;
const CERTIFICATE_MS = 14 * DAY_MS;

const found = (name: string, state: Finding["state"], text: string): Finding => ({
  name,
  state,
  text,
});
/** A size for people, rounded up. */
export const mib = (bytes: number) => `${Math.ceil(bytes / MIB)} MiB`;

/** Judges where a store is, whether a relay serves it, and who may read its file. */
export function judgeStore(kv: string, served: boolean, mode: number | null): Finding {
  const text = `${kv}, ${served ? "a relay serves it" : "no relay has it open"}`;
  if (mode === null || (mode & OTHERS) === 0) return found("store", "ok", text);
  return found("store", "note", `${text}; other users of this machine can read it: chmod 600`);
}

/** Judges the integrity check. */
export function judgeIntegrity(faults: readonly string[]): Finding {
  if (faults.length === 0) return found("integrity", "ok", "every page of the file is valid");
  const text = `the file is damaged (${faults.slice(0, 3).join("; ")}): stop the relay, keep a ` +
    "copy, and run `relay restore` with the last backup";
  return found("integrity", "fault", text);
}

/** Compares a store's schema with this program's. `unfinished` says that a migration to it was interrupted. */
export function judgeSchema(
  schema: number,
  unfinished: boolean,
  newest = newestSchema(),
): Finding {
  const text = `the store has schema ${schema}, this program has ${newest}`;
  if (schema > newest) return found("schema", "fault", `${text}: start a newer Relay`);
  if (unfinished) {
    const interrupted =
      `the migration to schema ${schema} was interrupted: the next start completes it`;
    return found("schema", "note", interrupted);
  }
  if (schema === newest) return found("schema", "ok", `${schema}, as in this program`);
  return found("schema", "note", `${text}: the next start migrates it`);
}

/** Compares the known secrets with those of the store. `mode` has the rights to their files. */
export function judgeSecret(
  fingerprints: readonly string[],
  sealers: readonly Sealer[],
  mode: number,
): Finding {
  const missing = fingerprints.filter((each) => !sealers.some((one) => one.recognizes(each)));
  if (sealers.length === 0) {
    return found("secret", "fault", "there is no secret: give it in RELAY_SECRET, or in its file");
  }
  if (missing.length > 0) {
    const text = missing.length === fingerprints.length
      ? "this is not the secret of this store: give the right one in RELAY_SECRET"
      : "the store is also sealed with another secret: give it in RELAY_SECRET_OLD";
    return found("secret", "fault", text);
  }
  if ((mode & OTHERS) !== 0) {
    return found(
      "secret",
      "fault",
      "other users can read its file: chmod 600, and rotate the secret",
    );
  }
  if (fingerprints.length > 1) {
    const text = "older secrets are in use: stop the relay and run `relay secret rotate`";
    return found("secret", "note", text);
  }
  return found("secret", "ok", "it opens the sealed values of the store");
}

/** Compares the clock with the time of the last write. */
export function judgeClock(nowMs: number, newestMs: number): Finding {
  if (nowMs >= newestMs - CLOCK_SLACK_MS) return found("clock", "ok", iso(nowMs));
  const text =
    `the clock says ${iso(nowMs)}, but the store was written at ${iso(newestMs)}: set the clock, ` +
    "or things will expire too late";
  return found("clock", "fault", text);
}

/**
 * Judges the free disk space. A backup needs as much as the store has in use; `relay compact` needs that next to
 * the store and again for temporary files, which may be on the same disk.
 */
export function judgeDisk(freeBytes: number, store: FileSize): Finding {
  const used = store.bytes - store.freeBytes;
  if (freeBytes < FREE_BYTES_MIN) {
    return found(
      "disk",
      "fault",
      `only ${mib(freeBytes)} are free: make room before the disk is full`,
    );
  }
  const text = `${mib(freeBytes)} are free, the store has ${mib(used)} in use: there is no room `;
  if (freeBytes < used) {
    return found("disk", "note", `${text}for a backup beside it or to compact it`);
  }
  if (freeBytes < 2 * used) {
    return found("disk", "note", `${text}to compact it if temporary files are on this disk too`);
  }
  return found("disk", "ok", `${mib(freeBytes)} are free`);
}

/** Judges how much of the file is unused. */
export function judgeSize({ bytes, freeBytes }: FileSize): Finding {
  if (freeBytes < UNUSED_BYTES || freeBytes < bytes / 2) {
    return found("size", "ok", `${mib(bytes)}, of which ${mib(freeBytes)} are unused`);
  }
  const text = `${mib(freeBytes)} of ${mib(bytes)} are unused: stop the relay and run ` +
    "`relay compact`";
  return found("size", "note", text);
}

/** Judges waiting deliveries. `first` has the key of each webhook's first one, `served` is true when a relay runs. */
export function judgeJobs(
  first: readonly KeyParts[],
  { nowMs, served, limit }: { nowMs: number; served: boolean; limit: number },
): Finding {
  const late = first.map(([, dueMs]) => dueMs as number).filter((dueMs) => dueMs <= nowMs);
  const more = first.length === limit;
  if (late.length === 0) {
    return found(
      "jobs",
      "ok",
      `no delivery${more ? ` to the first ${limit} webhooks` : ""} is due`,
    );
  }
  const oldestMs = late.reduce((a, b) => Math.min(a, b));
  const text =
    `deliveries to ${late.length} of ${first.length}${more ? " or more" : ""} webhooks ` +
    `are due, the oldest since ${iso(oldestMs)}`;
  if (!served) return found("jobs", "note", `${text}: they are sent when the relay starts`);
  if (nowMs - oldestMs < LATE_MS) return found("jobs", "ok", text);
  const what = "see the log of the relay, and disable webhooks whose receivers do not answer";
  return found("jobs", "fault", `${text}: ${what}`);
}

/**
 * Judges the backups. `takenMs` is when the newest was taken, of the schedule's folder or else as noted beside the
 * store; `fault` says what is wrong with the newest one of that folder, and `everyMs` is null without a schedule.
 */
export function judgeBackup(
  takenMs: number | null,
  { everyMs, fault, nowMs, served }: {
    everyMs: number | null;
    fault: string | null;
    nowMs: number;
    served: boolean;
  },
): Finding {
  if (fault !== null) return found("backup", "fault", fault);
  const newest = takenMs === null ? "none is known" : `the newest was taken at ${iso(takenMs)}`;
  const lateMs = everyMs === null ? UNSCHEDULED_MS : 2 * everyMs;
  if (takenMs !== null && isWithin(takenMs, lateMs, nowMs)) return found("backup", "ok", newest);
  if (everyMs === null) {
    return found(
      "backup",
      "note",
      `${newest}: set \`backups\` in RELAY_CONFIG, or run \`relay backup\``,
    );
  }
  const text = `${newest}, one is due every ${everyMs / HOUR_MS} h`;
  return served
    ? found("backup", "fault", `${text}: see the log of the relay, or run \`relay backup\``)
    : found("backup", "note", `${text}: the relay takes one at its start`);
}

/** Judges rows that should have been removed a day ago. */
export function judgeRetention(
  overdue: number,
  { served, days }: { served: boolean; days: Readonly<Record<string, number | null>> },
): Finding {
  const kept = Object.entries(days).map(([what, n]) =>
    n === null ? `${what} unlimited` : `${what} ${n} days`
  )
    .join(", ");
  if (overdue === 0) return found("retention", "ok", `${kept}; no row is overdue`);
  const text = `at least ${overdue} rows are overdue by more than a day`;
  return served
    ? found("retention", "fault", `${text}: restart the relay, and see its log`)
    : found("retention", "note", `${text}: they are removed when the relay starts`);
}

/** Rows that expired before this instant, in ms, are overdue. */
export const overdueBefore = (nowMs: number): number => nowMs - OVERDUE_MS;

/** The state of an address: free, used by a relay or another program, not on this machine, or forbidden. */
export type AddressState = "free" | "relay" | "taken" | "not_here" | "forbidden";

/** Judges the address to listen on. `served` is true when a relay has the store. */
export function judgeAddress(at: string, state: AddressState, served: boolean): Finding {
  const texts: Readonly<Record<AddressState, Finding>> = {
    free: served
      ? found(
        "address",
        "note",
        `no program listens at ${at}: the running relay has another address`,
      )
      : found("address", "ok", `${at} is free`),
    relay: served ? found("address", "ok", `a relay answers at ${at}`) : found(
      "address",
      "fault",
      `a relay with another store uses ${at}: choose another RELAY_PORT`,
    ),
    taken: found("address", "fault", `another program uses ${at}: choose another RELAY_PORT`),
    not_here: found(
      "address",
      "fault",
      `${at} does not belong to this machine: choose another RELAY_HOST`,
    ),
    forbidden: found("address", "fault", `${at} needs more rights: choose a RELAY_PORT above 1023`),
  };
  return texts[state];
}

/** Judges the certificate. `pem` begins with the relay's own; `mismatch` says what is wrong with its key. */
export function judgeCertificate(pem: string, mismatch: string | null, nowMs: number): Finding {
  let endsMs: number;
  try {
    endsMs = Date.parse(new X509Certificate(pem).validTo);
  } catch {
    return found("certificate", "fault", "RELAY_TLS_CERT contains no certificate: give a PEM file");
  }
  if (mismatch !== null) {
    const text =
      `RELAY_TLS_CERT and RELAY_TLS_KEY do not match: ${mismatch}: give PEM files of one pair`;
    return found("certificate", "fault", text);
  }
  const text = `it is valid until ${iso(endsMs)}`;
  if (endsMs <= nowMs) return found("certificate", "fault", `${text}: renew it, and restart`);
  if (endsMs - nowMs > CERTIFICATE_MS) return found("certificate", "ok", text);
  return found("certificate", "note", `${text}: renew it soon, and restart the relay`);
}
