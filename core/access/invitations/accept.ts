import { hash } from "node:crypto";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { type InvitationRecord, invitations } from "../../../kv/records/invitation.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { users } from "../../../kv/records/user.ts";
import type { Found, Reader } from "../../../kv/store/reader.ts";
import { insertUser } from "../people/new_user.ts";
import { type Begun, openSession } from "../sign_in/open_session.ts";
import type { SignIn } from "../sign_in/parts.ts";
import type { Stepping } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { hashPassword } from "../sign_in/passwords.ts";
import { mustExist } from "../roles/assign.ts";
import { mayStillGive, sourceBy } from "../roles/grant.ts";
import { customOf, isBuiltIn } from "../roles/rights.ts";
import { PEOPLE_MAX } from "../roles/roles.ts";

/** A person who joins, and their invite code. */
export interface Newcomer {
  readonly email: string;
  readonly password: string;
  readonly invite_code: string;
}

/**
 * Creates a user in the organization that invites them, with the invitation's roles and a session. The person who
 * invited must still be able to give those roles.
 * @throws {Fault} FORBIDDEN, VALIDATION_FAILED for no invitation or one for another email, GONE for one
 * that is over, CONFLICT
 */
export async function joinByInvitation(
  work: Stepping,
  { settings }: Pick<SignIn, "settings">,
  input: Newcomer,
): Promise<Begun> {
  const { store, ports } = work;
  if (settings.signup === "closed") {
    throw new Fault("FORBIDDEN", "This server accepts no new users.");
  }
  // Checked before the expensive hash, and again in the transaction: somebody else may be faster.
  await openInvitation(store, input, ports.clock.now());
  const password = await hashPassword(input.password, ports);
  return await store.transact(async (tx) => {
    const { tenant, record: invitation } = await openInvitation(tx, input, ports.clock.now());
    const organization = await tx.get(organizations, SYSTEM, tenant.org);
    if (organization === null) throw over("its organization no longer exists");
    if (await tx.count(users, tenant) >= PEOPLE_MAX) {
      throw new Fault(
        "CONFLICT",
        `The organization already has ${PEOPLE_MAX} users, which is the maximum.`,
      );
    }
    await mustExist(tx, tenant.org, invitation.roles);
    const whose = {
      email: input.email,
      password,
      roles: invitation.roles,
      created_with: invitation.invited_with,
    };
    const user = await insertUser(ports, tx, tenant, whose, "Use another email.");
    const now = ports.clock.now();
    tx.put(invitations, tenant, { ...invitation, accepted: { user_id: user.id, at_ms: now } });
    emit({ ...work, actor: { id: user.id } }, tx, tenant, {
      type: "user_created",
      resource: { type: "user", id: user.id },
      details: {
        email: user.email,
        roles: user.roles,
        invitation_id: invitation.id,
        invited_by: invitation.invited_by,
      },
    });
    return {
      organization,
      user,
      session: await openSession(work, tx, tenant, user, { second_factor: false }),
    };
  });
}

/** The invitation of a code, if it can be accepted now; with an email, by whoever has that. @throws {Fault} VALIDATION_FAILED, GONE */
export async function openInvitation(
  db: Reader,
  { email, invite_code }: Pick<Newcomer, "invite_code"> & Partial<Pick<Newcomer, "email">>,
  nowMs: number,
): Promise<Found<InvitationRecord>> {
  const found = await db.lookup(invitations, "code", [hash("sha256", invite_code)]);
  if (found === null) throw invalid("was not issued by this server");
  const { tenant, record: invitation } = found;
  if (invitation.accepted !== null) throw over("it was already used");
  if (invitation.withdrawn_at_ms !== null) throw over("it was withdrawn");
  if (nowMs >= invitation.ends_at_ms) throw over("it has expired");
  if (email !== undefined && invitation.email !== null && invitation.email !== email) {
    throw invalid("is for another email");
  }
  const known = await customOf(db, tenant.org, invitation.roles);
  const isKnown = (name: string) => isBuiltIn(name) || known.some(({ id }) => id === name);
  if (!invitation.roles.every(isKnown)) throw over("one of its roles no longer exists");
  const source = sourceBy(invitation.invited_by, invitation.invited_with);
  if (!await mayStillGive(db, tenant, source, invitation.roles, nowMs)) {
    throw over("the user who invited you may no longer assign its roles");
  }
  return found;
}

const over = (why: string) =>
  new Fault("GONE", `This invitation is no longer valid: ${why}. Ask for a new one.`);

function invalid(message: string): Fault {
  const issues = [{ path: "body.invite_code", message }];
  return new Fault("VALIDATION_FAILED", `The invite code ${message}.`, { issues });
}
