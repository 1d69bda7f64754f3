import type { Tenant } from "../../../kv/store/collection.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { Fault } from "../../fault/fault.ts";
import type { Ports } from "../../ports/ports.ts";

/**
 * Adds a new person to an organization.
 * @throws {Fault} CONFLICT with this advice if the email already has an account
 */
export async function insertUser(
  { clock, entropy }: Pick<Ports, "clock" | "entropy">,
  tx: Tx,
  tenant: Tenant,
  given: Pick<UserRecord, "email" | "password" | "roles" | "created_with">,
  advice: string,
): Promise<UserRecord> {
  if (await tx.lookup(users, "email", [given.email]) !== null) {
    throw new Fault("CONFLICT", `An account with this email already exists. ${advice}`);
  }
  return tx.insert(users, tenant, {
    id: entropy.id("usr"),
    ...given,
    also_of: [],
    active: true,
    session_epoch: 0,
    language: "en",
    timezone: "UTC",
    created_at_ms: clock.now(),
  });
}
