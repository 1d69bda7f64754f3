import type { Tenant } from "../../../kv/store/collection.ts";
import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { mustActForPerson } from "../people/person.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Actor, Scope } from "../../identity/identity.ts";
import { Fault } from "../../fault/fault.ts";

/**
 * A key that the caller may manage by this right. Another organization's key and a missing one give the same
 * answer.
 * @throws {Fault} NOT_FOUND, FORBIDDEN for a token that is limited to its scopes
 */
export async function ownedKey(
  { db, actor }: { readonly db: Reader; readonly actor: Actor },
  id: string,
  right: Scope,
): Promise<ApiKeyRecord> {
  if (!actor.rights.has(right)) mustActForPerson(actor);
  // The live space also manages test keys; the test space does not see live keys.
  const key = await db.get(apiKeys, actor.tenant, id) ??
    await db.get(apiKeys, { ...actor.tenant, space: "test" }, id);
  if (key !== null && mayManage(actor, key, right)) return key;
  throw new Fault("NOT_FOUND", "There is no such API key.");
}

/** People may manage the keys that they made; a key may only see itself. */
function mayManage(actor: Actor, key: ApiKeyRecord, right: Scope): boolean {
  if (actor.rights.has(right)) return true;
  if (actor.kind === "user") return key.created_by === actor.userId;
  return key.id === actor.id && right === "system:read";
}

/** The tenant of a key of the caller's organization. */
export const tenantOfKey = (
  { actor }: { readonly actor: Actor },
  { type }: Pick<ApiKeyRecord, "type">,
): Tenant => ({ org: actor.tenant.org, space: type });

/**
 * During its grace period the old value of a rotated key may do what the key may do, except manage credentials:
 * the key may have been rotated because that value leaked.
 * @throws {Fault} FORBIDDEN
 */
export function mustHoldNewValue({ key }: Actor): void {
  if (key === null || key.oldUntilMs === null) return;
  throw new Fault(
    "FORBIDDEN",
    "The old value of a rotated key cannot manage keys, tokens, codes or invitations. Use the new value.",
  );
}

/**
 * Refuses to hand out more than the giver has.
 * @throws {Fault} INSUFFICIENT_SCOPES
 */
export function mustCover(
  rights: ReadonlySet<Scope>,
  scopes: readonly Scope[],
  message: string,
): void {
  const required = scopes.filter((scope) => !rights.has(scope));
  if (required.length === 0) return;
  throw new Fault("INSUFFICIENT_SCOPES", message, { required, granted: [...rights] });
}
