import { type OrganizationRecord, organizations } from "../../kv/records/organization.ts";
import { plans } from "../../kv/records/plan.ts";
import { type SessionRecord, users } from "../../kv/records/user.ts";
import { SYSTEM, type Tenant } from "../../kv/store/collection.ts";
import type { Reader } from "../../kv/store/reader.ts";
import type { Actor } from "../identity/identity.ts";
import { homeOf } from "./roles/grant.ts";
import { rightsOf } from "./roles/rights.ts";
import { lacksFactor } from "./sign_in/lacks_factor.ts";

/** Why the record behind a credential no longer counts. */
export const REFUSALS = {
  ended: "The session has ended.",
  inactive: "The user or the organization is not active.",
} as const;
export type Refusal = keyof typeof REFUSALS;

/** Whether browsers may sign in to an organization at an issuer now. */
export type SignsIn = (issuer: string, organization: OrganizationRecord) => boolean;

/** What a session or the consent to an MCP client says about the sign-in behind it. */
type SignIn = Pick<SessionRecord, "epoch" | "second_factor" | "issuer">;

/** A person with their current rights, by a sign-in that still counts; null for a token that needs none. */
export async function userNow(
  db: Reader,
  { org, space }: Tenant,
  userId: string,
  signIn: SignIn | null,
  signsIn: SignsIn,
): Promise<Actor | Refusal> {
  const user = await db.get(users, homeOf(org), userId);
  const organization = await db.get(organizations, SYSTEM, org);
  if (!user?.active || !organization?.active) return "inactive";
  if (signIn !== null && signIn.epoch !== user.session_epoch) return "ended";
  const issuer = signIn?.issuer;
  if (issuer !== undefined && !signsIn(issuer, organization)) return "ended";
  const withoutRights = signIn !== null && lacksFactor(organization, signIn);
  return {
    kind: "user",
    id: user.id,
    tenant: { org, space },
    rights: withoutRights ? new Set() : await rightsOf(db, organization, user.roles),
    ...(withoutRights && { withoutRights }),
    userId: user.id,
    plan: organization.plan,
    host: organization.host,
    sessionId: null,
    expiresAtMs: Infinity,
    planPerMinute: (await db.get(plans, SYSTEM, organization.plan))?.requests_per_minute,
    planLimits: organization.limits,
    key: null,
  };
}
