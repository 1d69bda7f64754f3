import type { Tenant } from "../../../kv/store/collection.ts";
import type { Suspension } from "../../../kv/records/standing.ts";
import { users } from "../../../kv/records/user.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { homeOf, personRights } from "../roles/grant.ts";
import type { StandingKind, StandingRecord } from "./kinds.ts";

/** The person whose rights something acts with. */
export const actsFor = (
  { created_by, standing }: Pick<StandingRecord, "created_by" | "standing">,
): string => standing?.adopted_by ?? created_by;

/** Why something may not act now for its person; null while that person has every right that it needs. */
export async function suspensionOf<T extends StandingRecord>(
  db: Reader,
  tenant: Tenant,
  kind: StandingKind<T>,
  record: T,
): Promise<Suspension | null> {
  const person = actsFor(record);
  const user = await db.get(users, homeOf(tenant.org), person);
  const rights = await personRights(db, tenant.org, person);
  const missing = kind.needs(record).filter((scope) => !rights.has(scope));
  if (user?.active && missing.length === 0) return null;
  const reason = user === null ? "removed" : user.active ? "rights" : "inactive";
  return { person, reason, missing };
}

/** The person and the suspension, as every answer shows them. */
export async function showStanding<T extends StandingRecord>(
  db: Reader,
  tenant: Tenant,
  kind: StandingKind<T>,
  record: T,
) {
  return {
    acts_for: actsFor(record),
    suspended: await suspensionOf(db, tenant, kind, record),
  };
}
