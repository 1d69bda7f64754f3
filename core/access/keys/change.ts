import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { peopleBehind, unite, without } from "./people_behind.ts";
import { mustMatchRecord, type Writing } from "../../work/work.ts";
import type { Scope } from "../../identity/identity.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";
import { canonicalJson, iso } from "../../codec/codec.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { personOf } from "../roles/assign.ts";
import { giverOf, mustBeAbleToGive, personRights } from "../roles/grant.ts";
import { mustCover, mustHoldNewValue, ownedKey, tenantOfKey } from "./owned.ts";
import { EXPIRES_DAYS_MAX } from "./create.ts";
import { showKeyWithUse, statusOf } from "./show.ts";
import type { Usage } from "../usage/usage.ts";

/**
 * The fields of a key that may change: undefined ones stay, others are replaced whole. Read-only fields of the
 * record may be sent along unchanged.
 */
export interface ApiKeyChange {
  readonly name?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly scopes?: readonly Scope[] | undefined;
  /** When the key ends, as ISO 8601. */
  readonly expires_at?: string | undefined;
}

/**
 * Changes a key for every request that starts after the answer. Agent links that it may no longer hold are
 * closed after the commit.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, VALIDATION_FAILED, INSUFFICIENT_SCOPES, CONFLICT
 */
export async function updateApiKey(
  work: Writing,
  usage: Pick<Usage, "lastUsed">,
  id: string,
  { name, metadata, scopes, expires_at, ...others }: ApiKeyChange,
) {
  const { actor, tx, signals, ports } = work;
  mustHoldNewValue(actor);
  const key = await ownedKey(work, id, "system:write");
  mustMatchRecord(others, await showKeyWithUse(work, usage, key), ["last_used"]);
  const changed: ApiKeyRecord = {
    ...key,
    name: name ?? key.name,
    metadata: metadata ?? key.metadata,
    scopes: scopes === undefined || isSameList(scopes, key.scopes) ? key.scopes : [...scopes],
    ...expires_at !== undefined && endingAt(key, Date.parse(expires_at)),
  };
  await mustBeAllowed(work, key, changed);
  mustBeUsable(key, ports.clock.now());
  const fields = FIELDS.filter((field) =>
    canonicalJson([key[field]]) !== canonicalJson([changed[field]])
  );
  const next = givesMore(key, changed) ? await withWidener(work, changed) : changed;
  if (fields.length > 0) {
    tx.put(apiKeys, tenantOfKey(work, key), next);
    emit(work, tx, actor.tenant, {
      type: "api_key_updated",
      resource: { type: "api_key", id },
      details: {
        name: next.name,
        ...next.name !== key.name && { previous_name: key.name },
        changed: fields.map((field) => field === "expires_at_ms" ? "expires_at" : field),
        scopes_before: key.scopes,
        scopes_after: next.scopes,
        ...next.expires_at_ms !== key.expires_at_ms && {
          expires_at: iso(next.expires_at_ms),
          previous_expires_at: iso(key.expires_at_ms),
        },
      },
    });
    tx.afterCommit(() => signals.keyScopesChanged.send({ id, scopes: next.scopes }));
  }
  return await showKeyWithUse(work, usage, next);
}

const FIELDS = ["name", "metadata", "scopes", "expires_at_ms"] as const;

/** Another end of a key. Its old value ends no later, and people are notified of the new end. */
const endingAt = ({ expires_at_ms, old }: ApiKeyRecord, endMs: number) =>
  endMs === expires_at_ms ? {} : {
    expires_at_ms: endMs,
    expiry_told: false,
    old: old && { ...old, ends_at_ms: Math.min(old.ends_at_ms, endMs) },
  };

/**
 * Refuses a change of scopes or expiry by a caller who may not create such a key.
 * @throws {Fault} VALIDATION_FAILED, INSUFFICIENT_SCOPES, FORBIDDEN
 */
async function mustBeAllowed(
  work: Writing,
  key: ApiKeyRecord,
  next: ApiKeyRecord,
): Promise<void> {
  const { tx, actor } = work;
  const [hasNewScopes, hasNewEnd] = [
    next.scopes !== key.scopes,
    next.expires_at_ms !== key.expires_at_ms,
  ];
  if (!hasNewScopes && !hasNewEnd) return;
  const giver = await giverOf(work);
  const scopes = next.scopes as Scope[];
  if (hasNewScopes) {
    mustCover(giver.rights, scopes, "You can only give a key rights that you have.");
    const creator = await personRights(tx, actor.tenant.org, key.created_by);
    mustCover(creator, scopes, "A key can only have rights that its creator has.");
  }
  if (hasNewEnd) {
    mustCover(giver.rights, scopes, "To change a key's expiry you need every right that it has.");
    await mustBeEnd(work, key, next.expires_at_ms);
  }
  if ((hasNewEnd || grows(key, next)) && key.created_by !== actor.userId) {
    // The caller may hold the key's value, and would then act as the creator with more rights, or for longer.
    const { roles } = await personOf(tx, actor.tenant.org, key.created_by);
    await mustBeAbleToGive(work, giver, roles);
  }
}

/**
 * Refuses an end in the past, one that is too far ahead, and a later end than that of the key that asks for it, so
 * that nothing outlasts a stolen key.
 * @throws {Fault} VALIDATION_FAILED
 */
async function mustBeEnd({ tx, actor, ports }: Writing, key: ApiKeyRecord, endMs: number) {
  const nowMs = ports.clock.now();
  const asking = actor.kind === "api_key" ? await tx.get(apiKeys, actor.tenant, actor.id) : null;
  const lastMs = nowMs + EXPIRES_DAYS_MAX * DAY_MS;
  const message = endMs <= nowMs
    ? "must be in the future: revoke the key to end it now"
    : endMs > lastMs
    ? `must be at most ${EXPIRES_DAYS_MAX} days ahead`
    : asking !== null && endMs > Math.max(asking.expires_at_ms, key.expires_at_ms)
    ? `must be at most ${iso(asking.expires_at_ms)}, when the key that changes it expires`
    : null;
  if (message === null) return;
  const issues = [{ path: "body.expires_at", message }];
  throw new Fault("VALIDATION_FAILED", `expires_at ${message}.`, { issues });
}

const grows = (key: ApiKeyRecord, next: ApiKeyRecord): boolean =>
  next.scopes.some((scope) => !key.scopes.includes(scope));

/** Whether the key may do more after the change, or for longer. */
const givesMore = (key: ApiKeyRecord, next: ApiKeyRecord): boolean =>
  grows(key, next) || next.expires_at_ms > key.expires_at_ms;

/** The key with the caller among the people behind its values. */
async function withWidener({ tx, actor }: Writing, key: ApiKeyRecord): Promise<ApiKeyRecord> {
  const wideners = without(await peopleBehind(tx, actor), key.created_by);
  const old = key.old && { ...key.old, also_of: unite(key.old.also_of, wideners) };
  return { ...key, also_of: unite(key.also_of, wideners), old };
}

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  canonicalJson(a) === canonicalJson(b);

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
