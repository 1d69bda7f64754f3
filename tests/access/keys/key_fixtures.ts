import { strictEqual as eq } from "node:assert/strict";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import { SCOPE_LIST } from "../../../core/identity/scopes.ts";
import type { Account, Answer, World } from "../../support/world.ts";

export const KEYS = "/api/v1/api-keys";
export const HOUR_MS = 60 * 60 * 1000;

/** Why a key's value is not accepted, or null when it is. */
export async function keyReason(world: World, value: string): Promise<string | null> {
  const { status, body } = await world.call("GET", "/api/account/info", { as: value });
  if (status === 200) return null;
  eq(body.error.code, "INVALID_API_KEY");
  return body.error.details.reason;
}

/** Rotates a key; without hours the body is left out. */
export function rotate(world: World, id: string, as: string, hours?: number): Promise<Answer> {
  const body = hours === undefined ? undefined : { grace_period_hours: hours };
  return world.call("POST", `${KEYS}/${id}/rotate`, { as, body });
}

/** A key with every right, for tests that outlive a JWT: its value. */
export async function managerKey(world: World, owner: Account): Promise<string> {
  return (await world.key(owner, SCOPE_LIST, { expires_days: 3650 })).value;
}

/** Changes what is stored of a person. */
export async function setUser(
  world: World,
  { org, userId }: Pick<Account, "org" | "userId">,
  change: Partial<UserRecord>,
): Promise<void> {
  const tenant: Tenant = { org, space: "live" };
  await world.app.store.transact(async (tx) => {
    tx.put(users, tenant, { ...(await tx.get(users, tenant, userId))!, ...change });
  });
}

/** Another person of the same organization, who may do what the roles say: their token. */
export async function colleague(world: World, { org }: Account, roles: string[]): Promise<string> {
  const { email } = await world.signUp();
  const found = (await world.app.store.lookup(users, "email", [email]))!;
  const tenant: Tenant = { org, space: "live" };
  await world.app.store.transact((tx) => tx.delete(users, found.tenant, found.record.id));
  await world.app.store.transact((tx) => tx.put(users, tenant, { ...found.record, roles }));
  const body = { email, password: `password ${email.match(/\d+/)![0]}` };
  return (await world.call("POST", "/api/v1/login", { body })).body.token;
}
