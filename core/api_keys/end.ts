import { apiKeys } from "../../kv/records/api_key.ts";
import type { Writing } from "../app.ts";
import { Fault } from "../fault.ts";
import { mustHoldNewValue, ownedKey, tenantOfKey } from "./owned.ts";
import { showKeyWithUse } from "./show.ts";

/**
 * Makes a key unusable, for good; the links that it opened are closed as soon as that is durable.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, CONFLICT
 */
export async function revokeApiKey(work: Writing, id: string) {
  mustHoldNewValue(work.actor);
  const key = await ownedKey(work, id, "system:write");
  if (key.revoked_at_ms !== null) throw new Fault("CONFLICT", "The key is revoked already.");
  const revoked_at_ms = work.app.ports.clock.now();
  work.tx.afterCommit(() => work.app.links.closeCredential(id));
  const revoked = work.tx.put(apiKeys, tenantOfKey(work, key), { ...key, revoked_at_ms });
  return await showKeyWithUse(work, revoked);
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
