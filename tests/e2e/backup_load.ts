import { strictEqual as eq } from "node:assert/strict";
import { checkBackup } from "../../core/host/backup/check.ts";
import { newestAdded } from "../../core/host/backup/keep.ts";
import { sealersOf } from "../../core/host/backup/manifest.ts";
import { restoreBackup } from "../../core/host/backup/restore.ts";
import { INSTALLATION_KEY } from "../../core/host/backup/stored.ts";
import { systemClock, systemEntropy } from "../../core/ports/ports.ts";
import { isThere } from "../../kv/maintenance/disk.ts";
import { openFile } from "../../kv/maintenance/file.ts";
import { type Client, clientOf, UnreachedError } from "../clients/status_client.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { makeKey, signUpOwner, startRelayProcess } from "../support/processes.ts";

const CALLERS = 4;
const SECRET = "a secret of enough characters";

/** A relay whose store is backed up at each start, because nobody notes the backups of before. */
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
    const note = `${this.kv}.last-backup`;
    if (isThere(note)) Deno.removeSync(note);
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

  /** Restores the newest backup elsewhere, and checks that nothing else is wrong in the folder. */
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
    return newest;
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
