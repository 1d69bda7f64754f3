import { withoutUsers } from "../../../kv/engine/errors.ts";
import { isThere } from "../../../kv/maintenance/disk.ts";
import { isDamage, openFile } from "../../../kv/maintenance/file.ts";
import type { KeyParts } from "../../../kv/store/collection.ts";
import { HOUR_MS } from "../../../kv/store/durations.ts";
import { openServer } from "../../../kv/maintenance/server.ts";
import { MIGRATING_KEY, SCHEMA_KEY } from "../../../kv/maintenance/migrations.ts";
import { InstallationRecord } from "../../../kv/records/installation.ts";
import type { Entropy } from "../../ports/ports.ts";
import { nextSecretPath, secretPath, secretsKnown } from "../secrets/file.ts";
import { shownLocation } from "../../../kv/maintenance/location.ts";
import type { StoreSettings } from "../../context/context.ts";
import {
  type Finding,
  judgeBackup,
  judgeClock,
  judgeDisk,
  judgeIntegrity,
  judgeJobs,
  judgeRetention,
  judgeSchema,
  judgeSecret,
  judgeSize,
  judgeStore,
  overdueBefore,
} from "./findings.ts";
import { checkBackup } from "./check.ts";
import { newestAdded, newestTakenMs } from "./keep.ts";
import { lastBackupOf } from "./last_backup.ts";
import { sealersOf } from "./manifest.ts";
import { DUE_KEY, INSTALLATION_KEY } from "./stored.ts";

/** Webhooks that one examination checks, and rows that it counts. */
const COUNT_MAX = 10_000;

/** The inputs of an examination. */
export interface Examination {
  readonly settings: StoreSettings;
  readonly backups: { readonly folder: string | null; readonly every_hours: number };
  readonly retentionDays: Readonly<Record<string, number | null>>;
  readonly nowMs: number;
  readonly entropy: Pick<Entropy, "bytes">;
}

/** The surroundings of an embedded store. */
export interface Surroundings {
  /** True when a relay has the store open. */
  readonly served: boolean;
  /** Free space of its disk, in bytes. */
  readonly freeBytes: number;
}

/** Reads a store, embedded or on a server. */
interface Look {
  get(key: KeyParts): unknown;
  heads(prefix: KeyParts, limit: number): KeyParts[] | Promise<KeyParts[]>;
}

/** Examines an embedded store without changing it. A relay may serve it meanwhile. */
export async function examineFile(
  kv: string,
  about: Examination,
  { served, freeBytes }: Surroundings,
): Promise<Finding[]> {
  const { retentionDays, nowMs } = about;
  // Before the check, which takes minutes for a large file while a running relay goes on writing.
  const writtenMs = writtenAtMs(kv);
  const findings: Finding[] = [];
  try {
    using file = openFile(kv);
    findings.push(judgeStore(kv, served, modeOf(kv)));
    const size = file.size();
    const [disk, integrity] = [judgeDisk(freeBytes, size), judgeIntegrity(file.faults())];
    findings.push(integrity, disk);
    if (integrity.state === "fault") return findings;
    findings.push(judgeSize(size), judgeClock(nowMs, writtenMs));
    findings.push(...await examineRecords(file, kv, about, served));
    const overdue = file.expiredBefore(overdueBefore(nowMs), COUNT_MAX);
    findings.push(judgeRetention(overdue, { served, days: retentionDays }));
  } catch (error) {
    findings.push(unread(error, findings.length === 0));
  }
  return findings;
}

/** Examines a database server, whose disk and files cannot be checked from here. */
export async function examineServer(url: string, about: Examination): Promise<Finding[]> {
  const shown = shownLocation(url);
  try {
    using server = await openServer(url);
    const findings = await examineRecords(server, null, about, true);
    return [{ name: "store", state: "ok", text: `${shown} answers` }, ...findings];
  } catch (error) {
    const why = withoutUsers((error as Error).message).replaceAll(withoutUsers(url), shown);
    const text = `${shown} does not answer (${why}): see RELAY_KV and DENO_KV_ACCESS_TOKEN`;
    return [{ name: "store", state: "fault", text }];
  }
}

/** Checks a store's records against this program and its secrets, and the backups of a store that is the file `kv`. */
async function examineRecords(
  look: Look,
  kv: string | null,
  about: Examination,
  served: boolean,
): Promise<Finding[]> {
  const { settings, nowMs, entropy } = about;
  const empty: Finding = {
    name: "schema",
    state: "note",
    text: "the store is empty: the relay fills it at its start",
  };
  const number = await look.get(SCHEMA_KEY);
  if (typeof number !== "number") return [empty];
  const schema = judgeSchema(number, await look.get(MIGRATING_KEY) !== null);
  if (schema.state === "fault") return [schema]; // records of a newer schema are unknown here
  const installation = await look.get(INSTALLATION_KEY);
  if (installation === null) return [empty];
  const first = await look.heads(DUE_KEY, COUNT_MAX);
  return [
    schema,
    examineSecret(installation, settings, entropy),
    judgeJobs(first, { nowMs, served, limit: COUNT_MAX }),
    ...kv === null ? [] : [examineBackups(kv, installation, about, served)],
  ];
}

/** Reads the newest backup of the schedule's folder, as a restore would. With a schedule no other backup counts. */
function examineBackups(
  kv: string,
  installation: unknown,
  { settings, backups: { folder, every_hours }, nowMs, entropy }: Examination,
  served: boolean,
): Finding {
  let fault: string | null = null;
  let takenMs: number | null = null;
  try {
    const { epoch } = InstallationRecord.parse(installation);
    const newest = folder !== null && isThere(folder) ? newestAdded(folder, epoch) : null;
    takenMs = folder === null ? notedMs(kv, epoch) : newestTakenMs(folder, epoch);
    const secrets = secretsKnown(settings);
    if (newest !== null && secrets !== null) checkBackup(newest, sealersOf(secrets, entropy));
  } catch (error) {
    fault = (error as Error).message;
  }
  const everyMs = folder === null ? null : every_hours * HOUR_MS;
  return judgeBackup(takenMs, { everyMs, fault, nowMs, served });
}

/** When the newest backup that is noted beside the store was taken. */
function notedMs(kv: string, epoch: string): number | null {
  const taken = lastBackupOf(kv, epoch);
  return typeof taken === "string" ? Date.parse(taken) : null;
}

function examineSecret(
  installation: unknown,
  settings: StoreSettings,
  entropy: Pick<Entropy, "bytes">,
): Finding {
  try {
    const { secret_fingerprints } = InstallationRecord.parse(installation);
    const secrets = secretsKnown(settings);
    const sealers = secrets === null ? [] : sealersOf(secrets, entropy);
    const { kv, secret } = settings;
    const paths = kv === null || secret !== null ? [] : [secretPath(kv), nextSecretPath(kv)];
    const mode = paths.map(modeOf).reduce<number>((all, each) => all | (each ?? 0), 0);
    return judgeSecret(secret_fingerprints, sealers, mode);
  } catch (error) {
    return { name: "secret", state: "fault", text: (error as Error).message };
  }
}

/** Explains why a file could not be read. */
function unread(error: unknown, atOpening: boolean): Finding {
  const name = atOpening ? "store" : "integrity";
  const { message } = error as Error;
  const text = !isDamage(error)
    ? `the file was not examined (${message}): run this as the relay's user, and try again`
    : atOpening
    ? `${message}: see RELAY_KV, or restore the last backup`
    : `what is in it cannot be read (${message}): keep a copy, and run \`relay restore\` with ` +
      "the last backup";
  return { name, state: "fault", text };
}

/** The mode of a file; null when it is missing or the system has no modes. */
function modeOf(path: string): number | null {
  try {
    return Deno.statSync(path).mode;
  } catch {
    return null;
  }
}

/** When a store was last written, in ms. */
function writtenAtMs(kv: string): number {
  const times = [kv, `${kv}-wal`].map((path) => {
    try {
      return Deno.statSync(path).mtime?.getTime() ?? 0;
    } catch {
      return 0;
    }
  });
  return Math.max(...times);
}
