import { SYSTEM } from "../../../kv/store/collection.ts";
import { type OrganizationRecord, organizations } from "../../../kv/records/organization.ts";
import { users } from "../../../kv/records/user.ts";
import { emit } from "../../events/events.ts";
import type { Work, Writing } from "../../work/work.ts";
import type { Actor } from "../../identity/identity.ts";
import { Fault } from "../../fault/fault.ts";
import { iso } from "../../codec/codec.ts";
import { homeOf } from "../roles/grant.ts";

/** The caller's user, organization, credential and rights. */
export async function accountInfo({ db, actor }: Work) {
  const user = await db.get(users, homeOf(actor.tenant.org), actor.userId);
  const organization = await db.get(organizations, SYSTEM, actor.tenant.org);
  if (user === null || organization === null) throw new Fault("NOT_FOUND");
  return {
    user: {
      id: user.id,
      email: user.email,
      roles: user.roles,
      created_at: iso(user.created_at_ms),
    },
    organization: showOrganization(organization),
    credential: { type: credentialType(actor), id: actor.id },
    scopes: [...actor.rights],
    space: actor.tenant.space,
  };
}

/** Renames the caller's organization. @throws {Fault} NOT_FOUND */
export async function renameOrganization(work: Writing, name: string) {
  const { actor, tx } = work;
  const organization = await tx.get(organizations, SYSTEM, actor.tenant.org);
  if (organization === null) throw new Fault("NOT_FOUND");
  if (organization.name === name) return showOrganization(organization);
  const renamed = tx.put(organizations, SYSTEM, { ...organization, name });
  emit(work, tx, actor.tenant, {
    type: "organization_renamed",
    resource: { type: "organization", id: organization.id },
    details: { name, previous_name: organization.name },
  });
  return showOrganization(renamed);
}

const credentialType = (actor: Actor) =>
  actor.kind === "api_key" ? "api_key" as const : "jwt" as const;

const showOrganization = (organization: OrganizationRecord) => ({
  id: organization.id,
  name: organization.name,
  plan: organization.plan,
  host: organization.host,
  created_at: iso(organization.created_at_ms),
});
