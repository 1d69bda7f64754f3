import {
  addBackup,
  type Manifest,
  noteBackup,
  restoreBackup,
  secretPath,
  type Secrets,
  secretsKnown,
  STORE_FILE,
  writeBackup,
} from "../host/host.ts";
import { type Environment, readStoreSettings, type StoreSettings } from "../context/context.ts";
import { type StoreBackups, systemClock, systemEntropy } from "../ports/ports.ts";
import { readDuration } from "../codec/codec.ts";
import { isThere } from "../../kv/maintenance/disk.ts";
import { lockBackups } from "../../kv/maintenance/open.ts";
import { HOUR_MS } from "../../kv/store/durations.ts";
import { UsageError } from "./arguments.ts";
import { runCommand } from "./command.ts";
import { startProgram } from "./program.ts";
import { embeddedPath, storePath } from "./store.ts";

const BACKUP_HELP = `relay backup: copy the store while the relay serves

Usage:
  relay backup <new folder>
  relay backup --keep <duration> <folder of backups>

Writes ${STORE_FILE} and manifest.json into a new folder, and checks them. The backup contains everything
that was acknowledged before the time that it states. The relay shows when it was taken, by a file beside
the store. With --keep the new folder is one of the given folder and named after its time; older ones of
this store are removed afterwards. RELAY_KV names the store, as for \`relay serve\`. The backup does not
contain the secret: keep a copy of it in another place. Back up a database server (a KV Connect URL) with
its own tools.

Options:
  --keep <duration>  Remove backups that --keep added longer ago, such as 12h, 7d or 4w; never the new one.
  --help             Show this text.

Exit codes:
  0  the backup is complete
  1  no backup was written, or older ones were not removed; the reason is printed
  2  wrong arguments
`;

const RESTORE_HELP = `relay restore: create a new store from a backup

Usage:
  relay restore <folder>

RELAY_KV names the new store, which must not exist yet. The command needs the secret of the backup: in
RELAY_SECRET, or in the file beside the new store (relay.kv.secret for relay.kv). It refuses incomplete
or altered backups, and backups of another secret or a newer Relay, and then creates nothing.

The new store has the state of the backup: keys that were revoked since work again, and webhook
deliveries that were due are sent again.

Options:
  --help   Show this text.

Exit codes:
  0  the store is complete: start the relay
  1  no store was created; the reason is printed
  2  wrong arguments
`;

const PORTS = { clock: systemClock, entropy: systemEntropy };

/** Runs `relay backup`; resolves to the exit code. */
export function backupCommand(args: string[]): Promise<number> {
  return runCommand({
    name: "backup",
    help: BACKUP_HELP,
    texts: ["keep"],
    positional: 1,
    run: ({ keep }, given) => backup(folderOf("backup", given), keep),
  }, args);
}

/** Writes a backup into a folder; with `keep`, one of the folder's backups, of which old ones are removed. */
function backup(folder: string, keep: string | undefined): void {
  const keepMs = keep === undefined ? null : keptMs(keep);
  const settings = readStoreSettings(Deno.env.toObject(), false);
  const kv = storePath(settings.kv);
  const source = { kv, secrets: needSecrets(settings, kv) };
  using _lock = lockBackups(kv);
  const { path, manifest, removed, unremoved } = keepMs === null
    ? { path: folder, manifest: writeBackup({ ...source, folder }, PORTS), ...NONE_OLDER }
    : addBackup({ ...source, folder, keepMs }, PORTS);
  print(`The backup is in ${path}`, manifest);
  note(kv, manifest);
  if (removed > 0) console.log(`${removed} older backups were removed.`);
  const home = settings.secret === null ? secretPath(kv) : "RELAY_SECRET";
  console.log(`The backup does not hold the secret: keep a copy of ${home} in another place.`);
  if (unremoved === null) return;
  throw new Error(`older backups in ${folder} were not removed: ${unremoved}`);
}

const NONE_OLDER = { removed: 0, unremoved: null };

/** Backups of the store of an environment, each by `relay backup` in a process of its own. */
export function storeBackups(given: Environment): StoreBackups {
  const env: Record<string, string> = {};
  for (const [name, value = ""] of Object.entries(given)) {
    if (/^RELAY_(KV|SECRET)/.test(name)) env[name] = value;
  }
  return {
    async add(folder, keepMs, signal) {
      const program = startProgram(["backup", "--keep", `${keepMs / HOUR_MS}h`, folder], { env });
      const kill = () => void program.kill();
      signal.addEventListener("abort", kill);
      const { code } = await program.ended;
      signal.removeEventListener("abort", kill);
      if (code === 0) return;
      const reason = program.lines.findLast((line) => line.startsWith("relay: "));
      throw new Error(reason?.slice("relay: ".length) ?? `relay backup ended with code ${code}`);
    },
  };
}

function keptMs(keep: string): number {
  const ms = readDuration(keep);
  if (ms !== null) return ms;
  throw new UsageError(`The duration ${JSON.stringify(keep)} is none such as 12h, 7d or 4w.`);
}

/** Runs `relay restore`; resolves to the exit code. */
export function restoreCommand(args: string[]): Promise<number> {
  return runCommand({
    name: "restore",
    help: RESTORE_HELP,
    positional: 1,
    run: (_options, given) => restore(folderOf("restore", given)),
  }, args);
}

async function restore(folder: string): Promise<void> {
  if (!isThere(folder)) throw new Error(`there is no folder ${folder}`);
  const settings = readStoreSettings(Deno.env.toObject(), false);
  const kv = embeddedPath(settings.kv);
  const secrets = needSecrets(settings, kv);
  const manifest = await restoreBackup({ kv, folder, secrets }, PORTS);
  print(`The store is in ${kv}, as it was`, manifest);
  console.log(
    "What was revoked, deleted or changed since is not: revoke such keys again before others\n" +
      "reach the relay.",
  );
}

/** The backup is complete even if nobody can be told so. */
function note(kv: string, manifest: Manifest): void {
  try {
    noteBackup(kv, manifest);
  } catch (error) {
    const why = (error as Error).message;
    console.error(`The relay does not show this backup, because it cannot be noted: ${why}`);
  }
}

function needSecrets(settings: StoreSettings, kv: string): Secrets {
  const secrets = secretsKnown(settings);
  if (secrets !== null) return secrets;
  throw new Error(
    `there is no secret: give it in RELAY_SECRET, or put the file that it was in at ${
      secretPath(kv)
    }`,
  );
}

function print(what: string, { taken_at, versionstamp, bytes, sha256 }: Manifest): void {
  console.log(`${what}
  taken at      ${taken_at}
  versionstamp  ${versionstamp}
  size          ${bytes} bytes
  sha256        ${sha256}`);
}

function folderOf(name: string, given: string | undefined): string {
  if (given === undefined) throw new UsageError(`Name one folder: relay ${name} <folder>.`);
  return given.replace(/(?<=.)\/+$/, "");
}
