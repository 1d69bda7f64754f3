import { SYSTEM } from "../../../kv/store/collection.ts";
import { type InstallationRecord, installations } from "../../../kv/records/installation.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Sealer } from "../../codec/seal.ts";

/** Secrets under which a store may hold sealed texts at once; each start with another one adds to them. */
const SECRETS_MAX = 8;

/**
 * Holds the secrets that this process has against those that the store was sealed with, and puts the newest
 * one among them: whoever starts here can open everything. Answers whether older ones are still needed, and
 * the name of the logs' history; a new store begins as `fresh` says.
 * @throws {Error} when one is missing
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

/** Whether something in the store may be sealed already. */
export const isSealed = async (store: Reader): Promise<boolean> =>
  await store.get(installations, SYSTEM, "installation") !== null;

/** Everything is sealed with the newest secret: from now on the older ones open nothing and are refused. */
export async function retireSecrets(tx: Tx, sealer: Sealer): Promise<void> {
  const known = await tx.get(installations, SYSTEM, "installation");
  if (known === null) return;
  tx.put(installations, SYSTEM, { ...known, secret_fingerprints: [sealer.fingerprint()] });
}
