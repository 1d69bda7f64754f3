import { users } from "../../../kv/records/user.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { homeOf } from "../roles/grant.ts";

/**
 * Whether the organization has one member and never had a second one. People are never deleted, so no removal
 * makes this true again. In a transaction the count is checked: whoever joins meanwhile makes it run again.
 */
export const hasSoleMember = async (db: Reader, org: string): Promise<boolean> =>
  await db.count(users, homeOf(org)) === 1;
