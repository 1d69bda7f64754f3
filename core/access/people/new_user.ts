import type { Tenant } from "../../../kv/store/collection.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { App } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";

/**
 * Puts a new person into an organization.
 * @throws {Fault} CONFLICT with this advice, when the email has an account already
 */
export async function insertUser(
  { ports }: App,
  tx: Tx,
  tenant: Tenant,
  given: Pick<UserRecord, "email" | "password" | "roles" | "created_with">,
  advice: string,
): Promise<UserRecord> {
  if (await tx.lookup(users, "email", [given.email]) !== null) {
    throw new Fault("CONFLICT", `An account with this email exists. ${advice}`);
  }
  return tx.insert(users, tenant, {
    id: ports.entropy.id("usr"),
    ...given,
    also_of: [],
    active: true,
    session_epoch: 0,
    language: "en",
    timezone: "UTC",
    created_at_ms: ports.clock.now(),
  });
}
