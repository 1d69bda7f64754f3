import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { peopleBehind, unite, without } from "./people_behind.ts";
import { mustMatchRecord, type Writing } from "../../work/work.ts";
import type { Scope } from "../../identity/identity.ts";
import { canonicalJson, iso } from "../../codec/codec.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { personOf } from "../roles/assign.ts";
import { giverOf, mustBeAbleToGive, personRights } from "../roles/grant.ts";
import { mustCover, mustHoldNewValue, ownedKey, tenantOfKey } from "./owned.ts";
import { showKeyWithUse, statusOf } from "./show.ts";
import type { Usage } from "../usage/usage.ts";

/**
 * The fields of a key that may change: undefined ones stay, others are replaced whole. Read-only fields of the
 * record may be sent along unchanged.
 */
export interface ApiKeyChange {
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly scopes?: readonly Scope[] | undefined;
}

/**
 * Changes a key for every request that starts after the answer. Agent links that it may no longer hold are
 * closed after the commit.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, INSUFFICIENT_SCOPES, CONFLICT
 */
export async function updateApiKey(
  work: Writing,
  usage: Pick<Usage, "lastUsed">,
  id: string,
  { metadata, scopes, ...others }: ApiKeyChange,
) {
  const { actor, tx, signals } = work;
  mustHoldNewValue(actor);
  const key = await ownedKey(work, id, "system:write");
  mustMatchRecord(others, await showKeyWithUse(work, usage, key), ["last_used"]);
  const change = { metadata, scopes: isSameList(scopes, key.scopes) ? undefined : scopes };
  if (change.scopes !== undefined) {
    const giver = await giverOf(work);
    mustCover(giver.rights, change.scopes, "You can only give a key rights that you have.");
    const creator = await personRights(tx, actor.tenant.org, key.created_by);
    mustCover(creator, change.scopes, "A key can only have rights that its creator has.");
    if (grows(key, change.scopes) && key.created_by !== actor.userId) {
      // The caller may hold the key's value, and would then act as the creator with more rights.
      const { roles } = await personOf(tx, actor.tenant.org, key.created_by);
      await mustBeAbleToGive(work, giver, roles);
    }
  }
  mustBeUsable(key, work.ports.clock.now());
  const next = {
    ...await withWidener(work, key, change.scopes ?? key.scopes),
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
    tx.afterCommit(() => signals.keyScopesChanged.send({ id, scopes: next.scopes }));
  }
  return await showKeyWithUse(work, usage, next);
}

const grows = ({ scopes }: ApiKeyRecord, next: readonly string[]): boolean =>
  next.some((scope) => !scopes.includes(scope));

/** The key; a caller who adds a scope is recorded among the people behind its values. */
async function withWidener(
  { tx, actor }: Writing,
  key: ApiKeyRecord,
  scopes: readonly string[],
): Promise<ApiKeyRecord> {
  if (!grows(key, scopes)) return key;
  const wideners = without(await peopleBehind(tx, actor), key.created_by);
  const old = key.old && { ...key.old, also_of: unite(key.old.also_of, wideners) };
  return { ...key, also_of: unite(key.also_of, wideners), old };
}

const isSameList = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  canonicalJson([a ?? []]) === canonicalJson([b]);

/**
 * Refuses to change a key that has ended.
 * @throws {Fault} CONFLICT
 */
export function mustBeUsable(key: ApiKeyRecord, nowMs: number): void {
  const status = statusOf(key, nowMs);
  if (status === "revoked") throw new Fault("CONFLICT", "The key is revoked. Create a new one.");
  if (status === "expired") {
    throw new Fault("CONFLICT", `The key expired at ${iso(key.expires_at_ms)}. Create a new one.`);
  }
}
