import { apiKeys } from "../../../kv/records/api_key.ts";
import { peopleBehind, without } from "./people_behind.ts";
import type { Writing } from "../../work/work.ts";
import type { Scope } from "../../identity/identity.ts";
import { Fault } from "../../fault/fault.ts";
import { hashKeyValue, makeKeyValue, maskKeyValue } from "./value.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";
import { iso } from "../../codec/codec.ts";
import { giverOf } from "../roles/grant.ts";
import { mustCover, mustHoldNewValue, tenantOfKey } from "./owned.ts";
import { credentialInHand } from "./made_with.ts";
import { showApiKey } from "./show.ts";

/** A key that a person makes lasts this long unless the request says otherwise. */
export const EXPIRES_DAYS_DEFAULT = 90;
/** A key ends at most this long after it is made, or after its expiry is changed. */
export const EXPIRES_DAYS_MAX = 3650;
/**
 * Keys of a space, ended ones included: each stays until it is deleted. Concurrent requests may exceed it by a
 * few, because an exact count would make each wait for the commit of the others.
 */
const KEYS_MAX = 10_000;

/** A request for a new key. */
export interface NewApiKey {
  readonly name: string;
  readonly description: string;
  readonly scopes: readonly Scope[];
  readonly type: "live" | "test";
  readonly expires_days?: number | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * Creates a key. Only this answer holds its value.
 * @throws {Fault} INSUFFICIENT_SCOPES, FORBIDDEN, VALIDATION_FAILED, CONFLICT
 */
export async function createApiKey(work: Writing, input: NewApiKey) {
  const { store, ports, config, sealer, actor, tx } = work;
  mustHoldNewValue(actor);
  const { rights } = await giverOf(work);
  mustCover(rights, input.scopes, "A key can only have rights that its creator has.");
  if (actor.tenant.space === "test" && input.type === "live") {
    throw new Fault("FORBIDDEN", "The test space has only test keys: set `type` to test.");
  }
  const tenant = tenantOfKey(work, input);
  if (await store.count(apiKeys, tenant) >= KEYS_MAX) {
    throw new Fault("CONFLICT", `There are already ${KEYS_MAX} API keys. Delete one first.`);
  }
  const { clock, entropy } = ports;
  const value = makeKeyValue(input.type, entropy);
  const id = entropy.id("key");
  const now = clock.now();
  const key = tx.insert(apiKeys, tenant, {
    id,
    name: input.name,
    description: input.description,
    hash: hashKeyValue(value),
    sealed: sealer.seal(value, id),
    masked: maskKeyValue(value),
    type: input.type,
    scopes: [...input.scopes],
    metadata: input.metadata,
    created_by: actor.userId,
    created_with: await credentialInHand(work),
    also_of: without(await peopleBehind(tx, actor), actor.userId),
    created_at_ms: now,
    expires_at_ms: await endOfNew(work, input.expires_days, now),
    revoked_at_ms: null,
    expiry_told: false,
    rotated_at_ms: null,
    rotated_with: null,
    old: null,
    limits: null,
  });
  return { ...showApiKey({ ports, config }, key, null), key: value };
}

/**
 * When a new key ends, in ms. A key made by a key ends no later than that key, so that nothing outlasts a stolen
 * key.
 * @throws {Fault} VALIDATION_FAILED with the maximum
 */
async function endOfNew(
  { actor, tx }: Writing,
  days: number | undefined,
  nowMs: number,
): Promise<number> {
  const maker = actor.kind === "api_key" ? await tx.get(apiKeys, actor.tenant, actor.id) : null;
  if (days === undefined && maker !== null) return maker.expires_at_ms;
  const endMs = nowMs + (days ?? EXPIRES_DAYS_DEFAULT) * DAY_MS;
  if (maker === null || endMs <= maker.expires_at_ms) return endMs;
  const maximum = Math.floor((maker.expires_at_ms - nowMs) / DAY_MS);
  const then = `the key that creates it expires at ${iso(maker.expires_at_ms)}`;
  const message = maximum < 1 ? `must be left out: ${then}` : `must be at most ${maximum}: ${then}`;
  const issues = [{ path: "body.expires_days", message }];
  throw new Fault("VALIDATION_FAILED", `expires_days ${message}.`, { issues, maximum });
}
