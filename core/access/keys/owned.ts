import type { Tenant } from "../../../kv/store/collection.ts";
import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { mustActForPerson } from "../people/person.ts";
import type { Actor, Work } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import type { Scope } from "../../work/scopes.ts";

/**
 * A key that the caller may look after by this right. Another organization's key and one that never was
 * give the same answer.
 * @throws {Fault} NOT_FOUND, FORBIDDEN for a token that is not for its person's own things
 */
export async function ownedKey(
  { db, actor }: Pick<Work, "db" | "actor">,
  id: string,
  right: Scope,
): Promise<ApiKeyRecord> {
  if (!actor.rights.has(right)) mustActForPerson(actor);
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
export const tenantOfKey = (
  { actor }: Pick<Work, "actor">,
  { type }: Pick<ApiKeyRecord, "type">,
): Tenant => ({ org: actor.tenant.org, space: type });

/**
 * The old value of a rotated key does in its grace period what the key may do, except managing what lets
 * somebody in: whoever still has it may be the one it was rotated against.
 * @throws {Fault} FORBIDDEN
 */
export function mustHoldNewValue({ key }: Actor): void {
  if (key === null || key.oldUntilMs === null) return;
  throw new Fault(
    "FORBIDDEN",
    "The old value of a rotated key manages no keys, tokens, codes or invitations. Use the new value.",
  );
}

/**
 * Nobody hands out more than they have.
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
