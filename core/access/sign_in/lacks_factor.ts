import type { OrganizationRecord } from "../../../kv/records/organization.ts";
import type { SessionRecord } from "../../../kv/records/user.ts";

/**
 * True for a session without the second factor that its organization requires: it may only set one up. A sign-in at
 * another issuer is exempt, like that issuer's tokens, because the issuer decides about second factors.
 */
export const lacksFactor = (
  { require_second_factor }: Pick<OrganizationRecord, "require_second_factor">,
  { second_factor, issuer }: Pick<SessionRecord, "second_factor" | "issuer">,
): boolean => require_second_factor && !second_factor && issuer === undefined;
