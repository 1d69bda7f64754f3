import { apiKeys } from "../../../kv/records/api_key.ts";
import type { Stepping, Writing } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { endMadeWithKey, madeWithKey, mustBeAbleToEnd, showCascade, wouldEnd } from "./cascade.ts";
import { mustHoldNewValue, ownedKey, tenantOfKey } from "./owned.ts";
import { showKeyWithUse } from "./show.ts";

/** What becomes of the things that a key made. */
export interface Revoking {
  /** End them too. */
  readonly cascade: boolean;
  /** Only answer what would end. */
  readonly dry_run: boolean;
}

/**
 * Makes a key unusable, for good, and with `cascade` all that was made with it; the links that it opened
 * are closed as soon as that is durable. A cascade that was cut short goes on when it is asked for again.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, INSUFFICIENT_SCOPES, CONFLICT
 */
export async function revokeApiKey(work: Stepping, id: string, { cascade, dry_run }: Revoking) {
  const { app, actor } = work;
  mustHoldNewValue(actor);
  const key = await ownedKey(work, id, "system:write");
  const made = await madeWithKey(app, actor.tenant.org, id);
  if (dry_run) return { ...await showKeyWithUse(work, key), ...wouldEnd(made) };
  if (cascade) mustBeAbleToEnd(actor.rights, made);
  const revoked = await app.store.transact(async (tx) => {
    const key = await ownedKey({ db: tx, actor }, id, "system:write");
    if (key.revoked_at_ms !== null) {
      if (cascade) return key;
      throw new Fault("CONFLICT", "The key is revoked already.");
    }
    tx.afterCommit(() => app.links.closeCredential(id));
    emit(work, tx, actor.tenant, {
      type: "api_key_revoked",
      resource: { type: "api_key", id },
      details: { name: key.name, ...(cascade && { cascade }) },
    });
    work.recordUse(tx, 200);
    const revoked_at_ms = app.ports.clock.now();
    return tx.put(apiKeys, tenantOfKey(work, key), { ...key, revoked_at_ms });
  });
  const shown = await showKeyWithUse(work, revoked);
  if (!cascade) return { ...shown, ...wouldEnd(made) };
  const { ended, left } = await endMadeWithKey(work, id);
  return { ...shown, ...showCascade(ended, left) };
}

/**
 * Removes a key and what is known of its use; its links are closed as soon as that is durable.
 * @throws {Fault} FORBIDDEN, NOT_FOUND
 */
export async function deleteApiKey(work: Writing, id: string) {
  const { app, tx } = work;
  mustHoldNewValue(work.actor);
  const key = await ownedKey(work, id, "system:write");
  const home = tenantOfKey(work, key);
  tx.delete(apiKeys, home, key.id);
  app.usage.forget(tx, home, key.id);
  tx.afterCommit(() => app.links.closeCredential(key.id));
  return { id: key.id, name: key.name };
}
