import { apiKeys } from "../../kv/records/api_key.ts";
import type { Writing } from "../app.ts";
import { Fault } from "../fault.ts";
import { hashKeyValue, makeKeyValue, maskKeyValue } from "../key_value.ts";
import { giverOf } from "../roles/grant.ts";
import type { Scope } from "../scopes.ts";
import { mustCover, tenantOfKey } from "./owned.ts";
import { showApiKey } from "./show.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/**
 * Keys of a space, those that have ended among them: each stays until it is deleted. Of those that are made at once
 * a few more may get in, since each would wait for the commit of every other one.
 */
const KEYS_MAX = 10_000;

/** What a caller asks for. */
export interface NewApiKey {
  readonly name: string;
  readonly description: string;
  readonly scopes: readonly Scope[];
  readonly type: "live" | "test";
  readonly expires_days: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * Makes a key; its value is in this answer and in no other.
 * @throws {Fault} INSUFFICIENT_SCOPES, FORBIDDEN, CONFLICT
 */
export async function createApiKey(work: Writing, input: NewApiKey) {
  const { app, actor, tx } = work;
  const { rights } = await giverOf(work);
  mustCover(rights, input.scopes, "A key may hold only rights that its creator has.");
  if (actor.tenant.space === "test" && input.type === "live") {
    throw new Fault("FORBIDDEN", "The test space makes only test keys: ask for `type` test.");
  }
  const tenant = tenantOfKey(work, input);
  if (await app.store.count(apiKeys, tenant) >= KEYS_MAX) {
    throw new Fault("CONFLICT", `There are ${KEYS_MAX} API keys already. Delete one first.`);
  }
  const { clock, entropy } = app.ports;
  const value = makeKeyValue(input.type, entropy);
  const id = entropy.id("key");
  const now = clock.now();
  const key = tx.insert(apiKeys, tenant, {
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
    expiry_told: false,
    rotated_at_ms: null,
    old: null,
    limits: null,
  });
  return { ...showApiKey(app, key, null), key: value };
}
