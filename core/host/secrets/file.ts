import { syncFolder, writeAll } from "../../../kv/maintenance/disk.ts";
import type { Entropy } from "../../ports/ports.ts";
import type { StoreSettings } from "../../context/context.ts";

/** The secrets of a sealer. */
export interface Secrets {
  readonly secret: string;
  readonly olderSecrets: readonly string[];
}

const SECRET_BYTES = 32;

/** The file of an embedded store's secret, used when the settings have none. */
export const secretPath = (kv: string): string => `${kv}.secret`;

/** The file of the next secret while a rotation runs. */
export const nextSecretPath = (kv: string): string => `${kv}.secret.next`;

/**
 * The secrets of the settings, or for an embedded store those in the files beside it, made at the first start.
 * @throws {Error} when the store is `sealed` already and its secret is missing: a new one would open nothing in it,
 * and its file might be mistaken for the lost one
 */
export function secretsOf(
  settings: StoreSettings,
  entropy: Pick<Entropy, "bytes">,
  sealed: boolean,
): Secrets {
  const { kv, olderSecrets } = settings;
  const known = secretsKnown(settings);
  if (known !== null) return known;
  if (sealed) {
    throw new Error(
      `the secret of the store ${kv} is not here: put ${secretPath(kv!)} back, or give what it ` +
        "held in RELAY_SECRET",
    );
  }
  const inMemory = kv === null || kv === ":memory:";
  const secret = inMemory ? freshSecret(entropy) : makeSecret(secretPath(kv), entropy);
  return { secret, olderSecrets };
}

/** The secrets in the settings or beside an embedded store; null when there are none. */
export function secretsKnown({ secret, olderSecrets, kv }: StoreSettings): Secrets | null {
  if (secret !== null) return { secret, olderSecrets };
  if (kv === null || kv === ":memory:") return null;
  const current = readSecret(secretPath(kv));
  const next = readSecret(nextSecretPath(kv));
  if (next === null) return current === null ? null : { secret: current, olderSecrets };
  return {
    secret: next,
    olderSecrets: current === null ? olderSecrets : [current, ...olderSecrets],
  };
}

/** The next secret of an embedded store: that of an interrupted rotation, or a new one. */
export function nextSecret(kv: string, entropy: Pick<Entropy, "bytes">): string {
  return readSecret(nextSecretPath(kv)) ?? makeSecret(nextSecretPath(kv), entropy);
}

/** Replaces the current secret with the next one. */
export function promoteSecret(kv: string): void {
  Deno.renameSync(nextSecretPath(kv), secretPath(kv));
  syncFolder(kv);
}

/** The secret in a file, or null when there is none. */
export function readSecret(path: string): string | null {
  try {
    return Deno.readTextFileSync(path).trim();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    const why = (error as Error).message;
    throw new Error(
      `the secret cannot be read: ${why}. It belongs to the user who first started the relay: run the relay as that user`,
      { cause: error },
    );
  }
}

/** Writes a new secret to a file atomically, and to disk before anything is sealed with it. */
function makeSecret(path: string, entropy: Pick<Entropy, "bytes">): string {
  const secret = freshSecret(entropy);
  const part = `${path}.new`;
  const options = { write: true, create: true, truncate: true, mode: 0o600 };
  using file = Deno.openSync(part, options);
  writeAll(file, new TextEncoder().encode(`${secret}\n`));
  file.syncSync();
  Deno.renameSync(part, path);
  syncFolder(path);
  return secret;
}

const freshSecret = (entropy: Pick<Entropy, "bytes">): string =>
  entropy.bytes(SECRET_BYTES).toBase64();
