import { SYSTEM } from "../../../kv/store/collection.ts";
import { isThere, syncFile, syncFolder } from "../../../kv/maintenance/disk.ts";
import { lockStore, openStore } from "../../../kv/maintenance/open.ts";
import { installations } from "../../../kv/records/installation.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { settleFile } from "../../../kv/maintenance/vacuum.ts";
import { eventJson, type NewEvent, RELAY_ACTOR } from "../../events/events.ts";
import { homeOf } from "../../access/access.ts";
import type { Secrets } from "../secrets/file.ts";
import type { BackupPorts } from "./backup.ts";
import { copyChecked, mustBeWhole } from "./check.ts";
import { type Manifest, readManifest, sealersOf, sizeInBackup, STORE_FILE } from "./manifest.ts";

/** Endings of a store's files: an old log would be read into a new store. */
const COMPANIONS = ["", "-wal", "-shm"];

/**
 * Restores a backup to a path without a store. The store appears in one rename.
 * @throws {Error} when the backup was altered, has another secret or a newer schema, or a store exists
 */
export async function restoreBackup(
  { kv, folder, secrets }: { kv: string; folder: string; secrets: Secrets },
  ports: BackupPorts,
): Promise<Manifest> {
  const manifest = readManifest(folder, sealersOf(secrets, ports.entropy));
  mustBeWhole(folder, sizeInBackup(folder, STORE_FILE), manifest);
  mustNotExist(kv);
  using _lock = await lockStore(kv, ports.clock);
  mustNotExist(kv);
  const aside = `${kv}.restoring`;
  try {
    removeAll(aside);
    copyWhole(folder, aside, manifest);
    await beginHistory(aside, manifest, ports);
    settleFile(aside);
    syncFile(aside);
    Deno.renameSync(aside, kv);
    syncFolder(kv);
  } finally {
    try {
      removeAll(aside);
    } catch {
      // The outcome stands; the next restore removes the rest.
    }
  }
  return manifest;
}

function mustNotExist(kv: string): void {
  const found = COMPANIONS.map((end) => kv + end).find(isThere);
  if (found === undefined) return;
  throw new Error(
    `${found} exists: give the path of a new store in RELAY_KV, or move the old one away, with every ` +
      "file that begins with its name except the secret",
  );
}

function copyWhole(folder: string, aside: string, manifest: Manifest): void {
  using file = Deno.openSync(aside, { write: true, createNew: true, mode: 0o600 });
  copyChecked(folder, manifest, file);
}

/** Begins a new epoch of the logs, so that a reader of the old one does not mistake new events for its own. */
async function beginHistory(aside: string, manifest: Manifest, ports: BackupPorts): Promise<void> {
  const { store, close } = await openStore(aside, ports.clock);
  try {
    await store.transact(async (tx) => {
      const known = await tx.get(installations, SYSTEM, "installation");
      if (known === null) throw new Error("the backup has no installation in it");
      tx.put(installations, SYSTEM, { ...known, epoch: ports.entropy.id("e") });
      const host = await tx.find(organizations, SYSTEM, "host", ["host"]);
      if (host === null) return;
      const { taken_at, versionstamp, sha256 } = manifest;
      const tenant = homeOf(host.id);
      const happening: NewEvent<"backup_restored"> = {
        type: "backup_restored",
        resource: { type: "installation", id: "installation" },
        details: { taken_at, versionstamp, sha256 },
      };
      const row = eventJson({ ports, actor: RELAY_ACTOR }, tenant, happening);
      tx.append(tenant, happening.type, row);
    });
  } finally {
    await close();
  }
}

function removeAll(aside: string): void {
  for (const path of [...COMPANIONS, ".lock"].map((end) => aside + end)) {
    if (isThere(path)) Deno.removeSync(path);
  }
}
