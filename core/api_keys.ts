import type { Tenant } from "../kv/collection.ts";
import { type ApiKeyRecord, apiKeys } from "../kv/records/api_key.ts";
import type { Actor, App, Work, Writing } from "./app.ts";
import { Fault } from "./fault.ts";
import { hashKeyValue, makeKeyValue, maskKeyValue } from "./key_value.ts";
import { iso, type Paging, showPage } from "./lists.ts";
import { UNLIMITED } from "./limiter.ts";
import type { Scope } from "./scopes.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** What a caller asks for. */
export interface NewApiKey {
  readonly name: string;
  readonly description: string;
  readonly scopes: readonly Scope[];
  readonly type: "live" | "test";
  readonly expires_days: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Makes a key; its value is in this answer and in no other. */
export async function createApiKey(work: Writing, input: NewApiKey) {
  const { app, actor, tx } = work;
  const beyond = input.scopes.filter((scope) => !actor.rights.has(scope));
  if (beyond.length > 0) {
    throw new Fault("INSUFFICIENT_SCOPES", "A key may hold only rights that its creator has.", {
      required: beyond,
      granted: [...actor.rights],
    });
  }
  if (actor.tenant.space === "test" && input.type === "live") {
    throw new Fault("FORBIDDEN", "The test space makes only test keys: ask for `type` test.");
  }
  const { clock, entropy } = app.ports;
  const value = makeKeyValue(input.type, entropy);
  const id = entropy.id("key");
  const now = clock.now();
  const key = tx.insert(apiKeys, homeOf(work, input), {
    id,
    name: input.name,
    description: input.description,
    hash: hashKeyValue(value),
    sealed: app.sealer.seal(value, id),
    masked: maskKeyValue(value),
    type: input.type,
    scopes: [...input.scopes],
    metadata: input.metadata,
    created_by: actor.userId,
    created_at_ms: now,
    expires_at_ms: now + input.expires_days * DAY_MS,
    revoked_at_ms: null,
    rotated_at_ms: null,
    old: null,
    limits: null,
  });
  return { ...showApiKey(app, key, null), key: value };
}

/** The keys of the caller's space that it may see, newest first. */
export async function listApiKeys(work: Work, paging: Paging) {
  const { app, actor, db } = work;
  const all = actor.rights.has("system:read");
  if (!all && actor.kind === "api_key") return await listItself(work, paging);
  const own = { index: "creator", prefix: [actor.userId] };
  const page = await db.list(apiKeys, actor.tenant, { ...paging, ...!all && own, reverse: true });
  const total = all
    ? await db.count(apiKeys, actor.tenant)
    : await db.countBy(apiKeys, actor.tenant, "creator", [actor.userId]);
  const api_keys = await Promise.all(page.items.map((key) => showKeyWithUse(app, key, work)));
  return { api_keys, pagination: showPage(paging, page, total) };
}

/** What a key without system:read sees of the keys. */
async function listItself(work: Work, paging: Paging) {
  const api_keys = paging.offset === 0 ? [await getApiKey(work, work.actor.id)] : [];
  return { api_keys, pagination: showPage(paging, { items: api_keys, cursor: null }, 1) };
}

/** One key, its value masked. */
export async function getApiKey(work: Work, id: string) {
  return await showKeyWithUse(work.app, await ownedKey(work, id, "system:read"), work);
}

/** Makes a key unusable, for good; the links that it opened are closed as soon as that is durable. */
export async function revokeApiKey(work: Writing, id: string) {
  const key = await ownedKey(work, id, "system:write");
  if (key.revoked_at_ms !== null) throw new Fault("CONFLICT", "The key is revoked already.");
  const revoked_at_ms = work.app.ports.clock.now();
  work.tx.afterCommit(() => work.app.links.closeCredential(id));
  const revoked = work.tx.put(apiKeys, homeOf(work, key), { ...key, revoked_at_ms });
  return await showKeyWithUse(work.app, revoked, work);
}

/** Removes a key and what is known of its use; its links are closed as soon as that is durable. */
export async function deleteApiKey(work: Writing, id: string) {
  const { app, tx } = work;
  const key = await ownedKey(work, id, "system:write");
  const home = homeOf(work, key);
  tx.delete(apiKeys, home, key.id);
  app.usage.forget(tx, home, key.id);
  tx.afterCommit(() => app.links.closeCredential(key.id));
  return { id: key.id, name: key.name };
}

/** Another organization's key and one that never was give the same answer. */
export async function ownedKey(work: Work, id: string, right: Scope): Promise<ApiKeyRecord> {
  const { db, actor } = work;
  // The live space looks after test keys too; the test space sees nothing of the live one.
  const key = await db.get(apiKeys, actor.tenant, id) ??
    await db.get(apiKeys, { ...actor.tenant, space: "test" }, id);
  if (key !== null && mayManage(actor, key, right)) return key;
  throw new Fault("NOT_FOUND", "There is no such API key.");
}

/** Everybody may look after the keys that they made; a key, only see itself. */
function mayManage(actor: Actor, key: ApiKeyRecord, right: Scope): boolean {
  if (actor.rights.has(right)) return true;
  if (actor.kind === "user") return key.created_by === actor.userId;
  return key.id === actor.id && right === "system:read";
}

/** Where a key of the caller's organization lives. */
export const homeOf = ({ actor }: Work, { type }: Pick<ApiKeyRecord, "type">): Tenant => ({
  org: actor.tenant.org,
  space: type,
});

async function showKeyWithUse(app: App, key: ApiKeyRecord, work: Work) {
  return await showApiKey(app, key, await app.usage.lastUsed(homeOf(work, key), key.id));
}

function showApiKey(app: App, key: ApiKeyRecord, lastUsedMs: number | null) {
  const limits = app.config().limits[key.type];
  return {
    id: key.id,
    name: key.name,
    description: key.description,
    key: key.masked,
    type: key.type,
    scopes: key.scopes as Scope[],
    metadata: key.metadata,
    created_by: key.created_by,
    created_at: iso(key.created_at_ms),
    expires_at: iso(key.expires_at_ms),
    last_used: lastUsedMs === null ? null : iso(lastUsedMs),
    status: statusOf(key, app.ports.clock.now()),
    rate_limits: {
      requests_per_minute: limits.requests_per_minute ?? UNLIMITED,
      mcp_calls_per_minute: limits.mcp_calls_per_minute ?? UNLIMITED,
      max_concurrent: limits.max_concurrent ?? UNLIMITED,
    },
  };
}

function statusOf(key: ApiKeyRecord, nowMs: number): "active" | "revoked" | "expired" {
  if (key.revoked_at_ms !== null) return "revoked";
  return nowMs >= key.expires_at_ms ? "expired" : "active";
}
