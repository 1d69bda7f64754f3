import { openFile, type StoreFile } from "../../kv/file.ts";
import { lookAtServer } from "../../kv/look.ts";
import type { Entropy } from "../ports.ts";
import { secretPath, secretsKnown } from "../secrets/file.ts";
import type { StoreSettings } from "../settings.ts";
import {
  type Finding,
  judgeClock,
  judgeDisk,
  judgeIntegrity,
  judgeJobs,
  judgeRetention,
  judgeSchema,
  judgeSecret,
  judgeSize,
  overdueBefore,
} from "./findings.ts";
import { sealersOf } from "./manifest.ts";
import { DUE_KEY, type Stored, STORED_KEYS, storedOf } from "./stored.ts";

const { schema: SCHEMA, installation: INSTALLATION } = STORED_KEYS;
/** Deliveries and rows that one examination counts. */
const COUNT_MAX = 10_000;

/** What an examination goes by. */
export interface Examination {
  readonly settings: StoreSettings;
  readonly retentionDays: Readonly<Record<string, number | null>>;
  readonly nowMs: number;
  readonly entropy: Pick<Entropy, "bytes">;
}

/** What an embedded store's surroundings say. */
export interface Surroundings {
  /** Whether a relay has the store open. */
  readonly served: boolean;
  /** Free space of its disk. */
  readonly freeBytes: number;
}

/** Looks at an embedded store, which a relay may serve meanwhile, and changes nothing in it. */
export function examineFile(
  kv: string,
  { settings, retentionDays, nowMs, entropy }: Examination,
  { served, freeBytes }: Surroundings,
): Finding[] {
  let file: StoreFile;
  try {
    file = openFile(kv);
  } catch (error) {
    return [{
      name: "store",
      state: "fault",
      text: `${(error as Error).message}: see RELAY_KV, or restore the last backup`,
    }];
  }
  const who = served ? "a relay serves it" : "no relay has it open";
  const store: Finding = { name: "store", state: "ok", text: `${kv}, ${who}` };
  try {
    const integrity = judgeIntegrity(file.faults());
    const size = file.size();
    const disk = judgeDisk(freeBytes, size.bytes);
    if (integrity.state === "fault") return [store, integrity, disk];
    const due = file.keys(DUE_KEY, COUNT_MAX);
    const overdue = file.expiredBefore(overdueBefore(nowMs), COUNT_MAX);
    const said = { schema: file.get(SCHEMA), installation: file.get(INSTALLATION) };
    return [
      store,
      integrity,
      ...examineStored(said, settings, entropy),
      judgeClock(nowMs, writtenAtMs(kv)),
      disk,
      judgeSize(size),
      judgeJobs(due, { nowMs, served, limit: COUNT_MAX }),
      judgeRetention(overdue, { served, days: retentionDays }),
    ];
  } catch (error) {
    const text = `what is in it cannot be read (${(error as Error).message}): keep a copy, and ` +
      "run `relay restore` with the last backup";
    return [store, { name: "integrity", state: "fault", text }];
  } finally {
    file.close();
  }
}

/** Looks at a database of another server; its disk and its files are that server's. */
export async function examineServer(
  url: string,
  { settings, nowMs, entropy }: Examination,
): Promise<Finding[]> {
  try {
    const look = await lookAtServer(url);
    try {
      const [schema, installation] = await Promise.all([SCHEMA, INSTALLATION].map(look.get));
      const due = await look.keys(DUE_KEY, COUNT_MAX);
      return [
        { name: "store", state: "ok", text: `${url} answers` },
        ...examineStored({ schema, installation }, settings, entropy),
        judgeJobs(due, { nowMs, served: true, limit: COUNT_MAX }),
      ];
    } finally {
      look.close();
    }
  } catch (error) {
    const text = `${url} does not answer (${(error as Error).message}): see RELAY_KV and ` +
      "DENO_KV_ACCESS_TOKEN";
    return [{ name: "store", state: "fault", text }];
  }
}

/** What a store says of itself, against this program and its secrets. */
function examineStored(
  { schema, installation }: Readonly<Record<keyof Stored, unknown>>,
  settings: StoreSettings,
  entropy: Pick<Entropy, "bytes">,
): Finding[] {
  if (typeof schema !== "number" || installation === null) {
    const text = "nothing is in the store yet: it begins when the relay starts";
    return [{ name: "schema", state: "note", text }];
  }
  const finding = judgeSchema(schema);
  if (finding.state === "fault") return [finding]; // its records are not known here
  try {
    const fingerprints = storedOf("the store", schema, installation)!.installation
      .secret_fingerprints;
    const secrets = secretsKnown(settings);
    const sealers = secrets === null ? [] : sealersOf(secrets, entropy);
    const mode = settings.secret === null ? modeOf(settings.kv) : null;
    return [finding, judgeSecret(fingerprints, sealers, mode)];
  } catch (error) {
    return [finding, { name: "secret", state: "fault", text: (error as Error).message }];
  }
}

/** Who may read the file of the secret; null where there is none, or the system has no such thing. */
function modeOf(kv: string | null): number | null {
  try {
    return kv === null ? null : Deno.statSync(secretPath(kv)).mode;
  } catch {
    return null;
  }
}

/** When a store was written last. */
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
