import { strictEqual as eq } from "node:assert/strict";
import { checkBackup } from "../../core/host/backup/check.ts";
import { newestAdded } from "../../core/host/backup/keep.ts";
import {
  encodeManifest,
  MANIFEST_FILE,
  manifestIn,
  sealersOf,
} from "../../core/host/backup/manifest.ts";
import { restoreBackup } from "../../core/host/backup/restore.ts";
import { INSTALLATION_KEY } from "../../core/host/backup/stored.ts";
import { systemClock, systemEntropy } from "../../core/ports/ports.ts";
import { isThere } from "../../kv/maintenance/disk.ts";
import { HOUR_MS } from "../../kv/store/durations.ts";
import { openFile } from "../../kv/maintenance/file.ts";
import { type Client, clientOf, UnreachedError } from "../clients/status_client.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { makeKey, signUpOwner, startRelayProcess } from "../support/processes.ts";

const CALLERS = 4;
const SECRET = "a secret of enough characters";

/** More than the time between two scheduled backups. */
const PAST_MS = 25 * HOUR_MS;

/** A relay whose store is backed up at each start, because the backups of before are made to look older. */
export class BackedUpRelay {
  readonly kv: string;
  readonly secrets = { secret: SECRET, olderSecrets: [] };
  readonly ports = { clock: systemClock, entropy: systemEntropy };
  #restores = 0;

  constructor(private readonly folder: string, readonly backups: string) {
    this.kv = `${folder}/relay.kv`;
  }

  /** Starts it, with a backup that is due. */
  async start() {
    this.#age();
    return await startRelayProcess({
      RELAY_KV: this.kv,
      RELAY_SECRET: SECRET,
      RELAY_CONFIG: JSON.stringify({ ...NO_LIMITS, backups: { folder: this.backups } }),
    });
  }

  /** Makes a store with an owner, and so much data that a copy takes its time. Returns the owner's token. */
  async furnish(megabytes: number): Promise<string> {
    const { relay, url } = await startRelayProcess({ RELAY_KV: this.kv, RELAY_SECRET: SECRET });
    const owner = await signUpOwner(clientOf(url));
    await relay.stop();
    const engine = await Deno.openKv(this.kv);
    for (let n = 0; n < megabytes * 20; n++) {
      await engine.set(["weight", n], crypto.getRandomValues(new Uint8Array(50_000)));
    }
    engine.close();
    return owner;
  }

  /** Moves the time of the recent backups into the past. */
  #age(): void {
    if (!isThere(this.backups)) return;
    const [signer] = sealersOf(this.secrets, systemEntropy);
    for (const { name } of [...Deno.readDirSync(this.backups)]) {
      const path = `${this.backups}/${name}`;
      const manifest = name.endsWith(".part") ? null : manifestIn(path);
      if (manifest === null || Date.parse(manifest.taken_at) < Date.now() - PAST_MS) continue;
      const taken_at = new Date(Date.parse(manifest.taken_at) - PAST_MS).toISOString();
      const text = encodeManifest({ ...manifest, taken_at }, signer!);
      Deno.writeTextFileSync(`${path}/${MANIFEST_FILE}`, text);
      Deno.renameSync(path, `${this.backups}/relay-${taken_at.replaceAll(":", "")}`);
    }
  }

  /**
   * Restores the newest backup elsewhere, and checks that nothing else is wrong in the folder. Returns the versionstamp
   * of its newest commit.
   */
  async restoreNewest(): Promise<string> {
    using file = openFile(this.kv);
    const { epoch } = file.get(INSTALLATION_KEY) as { epoch: string };
    const newest = newestAdded(this.backups, epoch)!;
    for (const { name } of Deno.readDirSync(this.backups)) {
      if (!name.endsWith(".part")) {
        checkBackup(`${this.backups}/${name}`, sealersOf(this.secrets, systemEntropy));
      }
    }
    const kv = `${this.folder}/restored-${++this.#restores}.kv`;
    await restoreBackup({ kv, folder: newest, secrets: this.secrets }, this.ports);
    using restored = openFile(kv);
    eq(restored.faults().length, 0);
    Deno.removeSync(kv);
    return manifestIn(newest)!.versionstamp;
  }
}

/** Callers that change things until the relay is gone. Resolves to the number of changes that were acknowledged. */
export async function loadUntilGone(url: string, token: string): Promise<number> {
  const client: Client = clientOf(url, token);
  let made = 0;
  await Promise.all(Array.from({ length: CALLERS }, async () => {
    try {
      for (;; made++) await makeKey(client, ["agents:read"]);
    } catch (error) {
      if (!(error instanceof UnreachedError)) throw error;
    }
  }));
  return made;
}
