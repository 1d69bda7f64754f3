import { apiKeys } from "../../../kv/records/api_key.ts";
import type { Stepping, Writing } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { endMadeWithKey, madeWithKey, mustBeAbleToEnd, showCascade, wouldEnd } from "./cascade.ts";
import type { NamedKind } from "./made_kinds.ts";
import { mustHoldNewValue, ownedKey, tenantOfKey } from "./owned.ts";
import { showKeyWithUse } from "./show.ts";
import type { Usage } from "../usage/usage.ts";

/** How to treat the things that a key made. */
export interface Revoking {
  /** End them too. */
  readonly cascade: boolean;
  /** Only list what would end. */
  readonly dry_run: boolean;
}

/**
 * Revokes a key for good, and with `cascade` everything that was made with it. Agent links that it opened are
 * closed after the commit. Repeating the request continues a cascade that was cut short.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, INSUFFICIENT_SCOPES, CONFLICT
 */
export async function revokeApiKey(
  work: Stepping,
  { usage, madeKinds }: {
    readonly usage: Pick<Usage, "lastUsed">;
    readonly madeKinds: readonly NamedKind[];
  },
  id: string,
  { cascade, dry_run }: Revoking,
) {
  const { store, ports, signals, actor } = work;
  mustHoldNewValue(actor);
  const key = await ownedKey(work, id, "system:write");
  const made = await madeWithKey(work, madeKinds, actor.tenant.org, id);
  if (dry_run) return { ...await showKeyWithUse(work, usage, key), ...wouldEnd(made) };
  if (cascade) mustBeAbleToEnd(actor.rights, made);
  const revoked = await store.transact(async (tx) => {
    const key = await ownedKey({ db: tx, actor }, id, "system:write");
    if (key.revoked_at_ms !== null) {
      if (cascade) return key;
      throw new Fault("CONFLICT", "The key is already revoked.");
    }
    tx.afterCommit(() => signals.credentialEnded.send({ id }));
    emit(work, tx, actor.tenant, {
      type: "api_key_revoked",
      resource: { type: "api_key", id },
      details: { name: key.name, ...(cascade && { cascade }) },
    });
    work.recordUse(tx, 200);
    const revoked_at_ms = ports.clock.now();
    return tx.put(apiKeys, tenantOfKey(work, key), { ...key, revoked_at_ms });
  });
  const shown = await showKeyWithUse(work, usage, revoked);
  if (!cascade) return { ...shown, ...wouldEnd(made) };
  const { ended, left } = await endMadeWithKey(work, madeKinds, id);
  return { ...shown, ...showCascade(ended, left) };
}

/**
 * Deletes a key and its usage figures. Agent links that it opened are closed after the commit.
 * @throws {Fault} FORBIDDEN, NOT_FOUND
 */
export async function deleteApiKey(work: Writing, usage: Pick<Usage, "forget">, id: string) {
  const { signals, tx } = work;
  mustHoldNewValue(work.actor);
  const key = await ownedKey(work, id, "system:write");
  const home = tenantOfKey(work, key);
  tx.delete(apiKeys, home, key.id);
  usage.forget(tx, home, key.id);
  tx.afterCommit(() => signals.credentialEnded.send({ id: key.id }));
  return { id: key.id, name: key.name };
}
