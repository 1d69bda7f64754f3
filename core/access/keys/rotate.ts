import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { type People, peopleBehind, unite, without } from "./people_behind.ts";
import type { Stepping } from "../../work/work.ts";
import type { Scope } from "../../identity/identity.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { hashKeyValue, makeKeyValue, maskKeyValue } from "./value.ts";
import { HOUR_MS } from "../../../kv/store/durations.ts";
import { iso } from "../../codec/codec.ts";
import { personOf } from "../roles/assign.ts";
import { giverOf, mustBeAbleToGive } from "../roles/grant.ts";
import { mustBeUsable } from "./change.ts";
import { credentialInHand } from "./made_with.ts";
import { mustCover, mustHoldNewValue, ownedKey, tenantOfKey } from "./owned.ts";
import { statusOf } from "./show.ts";

/**
 * Gives a key a new value. The old one works until the grace period ends, at most until the key expires. Of
 * concurrent rotations one succeeds.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, INSUFFICIENT_SCOPES, CONFLICT
 */
export async function rotateApiKey(work: Stepping, id: string, grace_period_hours: number) {
  const { store, ports, sealer, signals, actor } = work;
  mustHoldNewValue(actor);
  let asked: string | null = null;
  return await store.transact(async (tx) => {
    const giving = { ports, actor, tx };
    const giver = await giverOf(giving);
    const key = await ownedKey({ db: tx, actor }, id, "system:write");
    mustCover(
      giver.rights,
      key.scopes as Scope[],
      "To rotate a key you need every right that it has, because the response shows its new " +
        "value.",
    );
    // Whoever holds the value acts as the person who made the key.
    if (key.created_by !== actor.userId) {
      const creator = await personOf(tx, actor.tenant.org, key.created_by);
      await mustBeAbleToGive(giving, giver, creator.roles);
    }
    // A rerun after a lost race sees the other rotation's value, even if that one gave no grace.
    asked ??= key.hash;
    mustBeRotatable(key, asked, ports.clock.now());
    const given = without(await peopleBehind(tx, actor), key.created_by);
    const { rotated, newValue } = withNewValue(work, key, grace_period_hours, given);
    const rotated_with = await credentialInHand(giving);
    tx.put(apiKeys, tenantOfKey(work, key), { ...rotated, rotated_with });
    emit(work, tx, actor.tenant, {
      type: "api_key_rotated",
      resource: { type: "api_key", id },
      details: { name: key.name, grace_period_hours },
    });
    work.recordUse(tx, 200);
    // Nobody has the new value yet, so every open link uses an old one.
    if (grace_period_hours === 0) tx.afterCommit(() => signals.credentialEnded.send({ id }));
    return showRotation(rotated, sealer.open(key.sealed, id), newValue);
  });
}

/** @throws {Fault} CONFLICT */
function mustBeRotatable(key: ApiKeyRecord, asked: string, nowMs: number): void {
  mustBeUsable(key, nowMs);
  if (statusOf(key, nowMs) === "rotating") {
    const grace_period_ends = iso(key.old!.ends_at_ms);
    throw new Fault(
      "CONFLICT",
      `The key is already rotating. Rotate it again after ${grace_period_ends}.`,
      { grace_period_ends },
    );
  }
  if (key.hash !== asked) {
    throw new Fault(
      "CONFLICT",
      "Another request rotated the key first. Use the new value from that request.",
    );
  }
}

/** The record with a new value, and that value. `given` are the people besides the creator who get both values. */
function withNewValue(
  { ports, sealer }: Stepping,
  key: ApiKeyRecord,
  graceHours: number,
  given: People,
) {
  const newValue = makeKeyValue(key.type, ports.entropy);
  const rotated_at_ms = ports.clock.now();
  const ends_at_ms = Math.min(rotated_at_ms + graceHours * HOUR_MS, key.expires_at_ms);
  const rotated: ApiKeyRecord & { old: object } = {
    ...key,
    hash: hashKeyValue(newValue),
    sealed: sealer.seal(newValue, key.id),
    masked: maskKeyValue(newValue),
    rotated_at_ms,
    also_of: [...given],
    old: { hash: key.hash, ends_at_ms, also_of: unite(key.also_of, given) },
  };
  return { rotated, newValue };
}

function showRotation({ id, old, rotated_at_ms }: ApiKeyRecord, old_key: string, new_key: string) {
  const grace = old!.ends_at_ms > rotated_at_ms!;
  const grace_period_ends = iso(old!.ends_at_ms);
  const message = grace
    ? `Both values work until ${grace_period_ends}; after that only the new one works.`
    : "Only the new value works.";
  const status = grace ? "rotating" as const : "active" as const;
  return {
    id,
    status,
    old_key,
    new_key,
    grace_period_ends,
    message: `${message} Store it now: no later response shows it.`,
  };
}
