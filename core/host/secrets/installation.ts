import { SYSTEM } from "../../../kv/store/collection.ts";
import { type InstallationRecord, installations } from "../../../kv/records/installation.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Sealer } from "../../codec/codec.ts";

/** Secrets of one store at most; each start with another secret adds one. */
const SECRETS_MAX = 8;

/**
 * Checks that this process has every secret that the store was sealed with, and records its newest one. Returns
 * whether older secrets are still needed, and the epoch of the logs. A new store begins with `fresh`.
 * @throws {Error} when a secret is missing
 */
export async function admitSecrets(
  tx: Tx,
  sealer: Sealer,
  fresh: Pick<InstallationRecord, "epoch" | "created_at_ms">,
): Promise<{ older: boolean; epoch: string }> {
  const known = await tx.get(installations, SYSTEM, "installation");
  const stored = known?.secret_fingerprints ?? [];
  const recognized = stored.filter((fingerprint) => sealer.recognizes(fingerprint));
  if (recognized.length < stored.length) {
    throw new Error(
      recognized.length === 0
        ? "RELAY_SECRET is not the one that this store was made with: start with that one, " +
          "or name it in RELAY_SECRET_OLD"
        : "this store holds texts sealed with yet another secret: name it in RELAY_SECRET_OLD",
    );
  }
  const own = sealer.fingerprint();
  const { epoch, created_at_ms } = known ?? fresh;
  if (stored.includes(own)) return { older: stored.length > 1, epoch };
  if (stored.length >= SECRETS_MAX) {
    throw new Error(
      `this store was sealed with ${stored.length} secrets: run \`relay secret rotate\` first`,
    );
  }
  tx.put(installations, SYSTEM, {
    id: "installation",
    epoch,
    created_at_ms,
    secret_fingerprints: [own, ...stored],
  });
  return { older: stored.length > 0, epoch };
}

/** True when something in the store may already be sealed. */
export const isSealed = async (store: Reader): Promise<boolean> =>
  await store.get(installations, SYSTEM, "installation") !== null;

/** Forgets the older secrets, once everything is sealed with the newest one. */
export async function retireSecrets(tx: Tx, sealer: Sealer): Promise<void> {
  const known = await tx.get(installations, SYSTEM, "installation");
  if (known === null) return;
  tx.put(installations, SYSTEM, { ...known, secret_fingerprints: [sealer.fingerprint()] });
}
