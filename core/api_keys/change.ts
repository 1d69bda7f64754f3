import { type ApiKeyRecord, apiKeys } from "../../kv/records/api_key.ts";
import { AGENT_RIGHT } from "../agents/links.ts";
import type { Writing } from "../app.ts";
import { canonicalJson } from "../canonical.ts";
import { emit } from "../events.ts";
import { Fault } from "../fault.ts";
import { iso } from "../lists.ts";
import { giverOf, personRights } from "../roles/grant.ts";
import type { Scope } from "../scopes.ts";
import { mustCover, mustHoldNewValue, ownedKey, tenantOfKey } from "./owned.ts";
import { showKeyWithUse, statusOf } from "./show.ts";

/** What may change of a key; what is undefined stays, what is there is replaced whole. */
export interface ApiKeyChange {
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly scopes?: readonly Scope[] | undefined;
}

/**
 * Changes a key for every request that starts after the answer. Links that it no longer has the right
 * to keep are closed as soon as that is durable.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, INSUFFICIENT_SCOPES, CONFLICT
 */
export async function updateApiKey(work: Writing, id: string, change: ApiKeyChange) {
  const { app, actor, tx } = work;
  mustHoldNewValue(actor);
  const key = await ownedKey(work, id, "system:write");
  if (change.scopes !== undefined) {
    const { rights } = await giverOf(work);
    mustCover(rights, change.scopes, "A key gets only rights that you have.");
    const creator = await personRights(tx, actor.tenant.org, key.created_by);
    mustCover(creator, change.scopes, "A key gets only rights that its creator has.");
  }
  mustBeUsable(key, app.ports.clock.now());
  const next = {
    ...key,
    metadata: change.metadata ?? key.metadata,
    scopes: change.scopes === undefined ? key.scopes : [...change.scopes],
  };
  const changed = (["metadata", "scopes"] as const).filter((field) =>
    canonicalJson([key[field]]) !== canonicalJson([next[field]])
  );
  if (changed.length > 0) {
    tx.put(apiKeys, tenantOfKey(work, key), next);
    emit(work, tx, actor.tenant, {
      type: "api_key_updated",
      resource: { type: "api_key", id },
      details: { name: key.name, changed, scopes_before: key.scopes, scopes_after: next.scopes },
    });
    if (!next.scopes.includes(AGENT_RIGHT)) tx.afterCommit(() => app.links.closeCredential(id));
  }
  return await showKeyWithUse(work, next);
}

/**
 * What has ended stays as it is.
 * @throws {Fault} CONFLICT
 */
export function mustBeUsable(key: ApiKeyRecord, nowMs: number): void {
  const status = statusOf(key, nowMs);
  if (status === "revoked") throw new Fault("CONFLICT", "The key is revoked. Create another.");
  if (status === "expired") {
    throw new Fault("CONFLICT", `The key expired at ${iso(key.expires_at_ms)}. Create another.`);
  }
}
