import { hash } from "node:crypto";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { type InvitationRecord, invitations } from "../../../kv/records/invitation.ts";
import { credentialInHand } from "../keys/made_with.ts";
import { mustHoldNewValue } from "../keys/owned.ts";
import type { Reading, Work, Writing } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { makeSecretText } from "../keys/value.ts";
import { listPage, type Paging } from "../../../kv/store/paging.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { mustExist } from "../roles/assign.ts";
import { giverOf, homeOf, mustBeAbleToGive } from "../roles/grant.ts";
import { openInvitation } from "./accept.ts";
import { mustAllowInvitation } from "./open.ts";

/** 120 bits cannot be guessed. */
const CODE_BYTES = 15;
/** How long an ended invitation stays visible. */
const KEPT_MS = 90 * DAY_MS;

/** A request to invite somebody. */
export interface NewInvitation {
  readonly email?: string | undefined;
  readonly roles: readonly string[];
  readonly expires_days: number;
}

/**
 * Invites somebody into the organization. Only this answer holds the code.
 * @throws {Fault} INSUFFICIENT_SCOPES and FORBIDDEN beyond the caller's own rights, NOT_FOUND for a role,
 * CONFLICT
 */
export async function invite(work: Writing, { email, roles, expires_days }: NewInvitation) {
  const { ports, actor, tx } = work;
  mustHoldNewValue(actor);
  const home = homeOf(actor.tenant.org);
  const names = [...new Set(roles)];
  await mustExist(tx, actor.tenant.org, names);
  await mustBeAbleToGive(work, await giverOf(work), names);
  const now = ports.clock.now();
  await mustAllowInvitation(tx, home, now);
  const invite_code = makeSecretText("invite_", CODE_BYTES, ports.entropy);
  const ends_at_ms = now + expires_days * DAY_MS;
  const invitation = tx.insert(invitations, home, {
    id: ports.entropy.id("inv"),
    hash: hash("sha256", invite_code),
    email: email ?? null,
    roles: names,
    invited_by: actor.userId,
    invited_with: await credentialInHand(work),
    created_at_ms: now,
    ends_at_ms,
    accepted: null,
    withdrawn_at_ms: null,
    purge_at_ms: ends_at_ms + KEPT_MS,
  });
  emit(work, tx, actor.tenant, {
    type: "user_invited",
    resource: { type: "invitation", id: invitation.id },
    details: { email: invitation.email, roles: names, expires_at: iso(ends_at_ms) },
  });
  return { ...showInvitation(invitation, now), invite_code };
}

/** The organization's invitations, newest first. */
export async function listInvitations({ ports, db, actor }: Work, paging: Paging) {
  const home = homeOf(actor.tenant.org);
  const options = { ...paging, index: "all", prefix: ["all"], reverse: true };
  const { items, pagination } = await listPage(db, invitations, home, options);
  const now = ports.clock.now();
  return { invitations: items.map((each) => showInvitation(each, now)), pagination };
}

/** Withdraws an open invitation. @throws {Fault} FORBIDDEN, NOT_FOUND, CONFLICT */
export async function withdrawInvitation({ ports, actor, tx }: Writing, id: string) {
  mustHoldNewValue(actor);
  const home = homeOf(actor.tenant.org);
  const invitation = await tx.get(invitations, home, id);
  if (invitation === null) throw new Fault("NOT_FOUND", "There is no such invitation.");
  const now = ports.clock.now();
  const status = statusOf(invitation, now);
  if (status === "accepted" || status === "withdrawn") {
    throw new Fault("CONFLICT", `The invitation is already ${status}.`, { status });
  }
  tx.put(invitations, home, { ...invitation, withdrawn_at_ms: now });
  return { id, email: invitation.email, roles: invitation.roles };
}

function statusOf(invitation: InvitationRecord, nowMs: number) {
  if (invitation.accepted !== null) return "accepted" as const;
  if (invitation.withdrawn_at_ms !== null) return "withdrawn" as const;
  return nowMs >= invitation.ends_at_ms ? "expired" as const : "open" as const;
}

const showInvitation = (invitation: InvitationRecord, nowMs: number) => ({
  id: invitation.id,
  status: statusOf(invitation, nowMs),
  email: invitation.email,
  roles: [...invitation.roles],
  invited_by: invitation.invited_by,
  invited_with: invitation.invited_with,
  created_at: iso(invitation.created_at_ms),
  expires_at: iso(invitation.ends_at_ms),
  accepted_by: invitation.accepted?.user_id ?? null,
  accepted_at: isoOrNull(invitation.accepted?.at_ms ?? null),
});

/** What an invitation is to, for whoever holds its code. @throws {Fault} VALIDATION_FAILED, GONE */
export async function readInvitation({ db, ports }: Reading, invite_code: string) {
  const { tenant, record } = await openInvitation(db, { invite_code }, ports.clock.now());
  const organization = await db.get(organizations, SYSTEM, tenant.org);
  return {
    // An invitation works only while its organization is there.
    organization: organization!.name,
    email: record.email,
    roles: [...record.roles],
    expires_at: iso(record.ends_at_ms),
  };
}
