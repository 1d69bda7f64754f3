import { syncFolder, writeAll } from "../../../kv/maintenance/disk.ts";
import type { Entropy } from "../../ports/ports.ts";
import type { StoreSettings } from "../../work/settings.ts";

/** What a sealer is made of. */
export interface Secrets {
  readonly secret: string;
  readonly olderSecrets: readonly string[];
}

const SECRET_BYTES = 32;

/** Where the secret of an embedded store lies when the settings have none. */
export const secretPath = (kv: string): string => `${kv}.secret`;

/** Where the next secret waits until everything is sealed with it. */
export const nextSecretPath = (kv: string): string => `${kv}.secret.next`;

/**
 * The secrets of the settings, or, for an embedded store, those in the file beside it, made at the first
 * start. While a rotation is under way there is a next one too.
 * @throws {Error} when the store is `sealed` already and there is none: another would open nothing in it,
 * and a file of it might be taken for the one that is lost
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

/** The secrets that there are, in the settings or beside an embedded store; null when there are none. */
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

/** The next secret of an embedded store: the one that a rotation began with, or a new one. */
export function nextSecret(kv: string, entropy: Pick<Entropy, "bytes">): string {
  return readSecret(nextSecretPath(kv)) ?? makeSecret(nextSecretPath(kv), entropy);
}

/** The next secret takes the place of the one before, which is gone with it. */
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
      `the secret cannot be read: ${why}. It is of the user who first started the relay: run it as that one`,
      { cause: error },
    );
  }
}

/** A file that is there whole or not at all, on disk before anything is sealed with what it holds. */
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
