import type { Tenant } from "../../../kv/store/collection.ts";
import { type SelfApprovalChangeRecord, selfApprovalChanges } from "../../../kv/records/shield.ts";
import { users } from "../../../kv/records/user.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import {
  homeOf,
  isAmong,
  mustActForPerson,
  notifySettingsEditors,
  peopleBehind,
  personRights,
} from "../../access/access.ts";
import type { Work, Writing } from "../../work/work.ts";
import type { Actor } from "../../identity/identity.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { iso } from "../../codec/codec.ts";

/** A space has at most one pending change. */
const RECORD_ID = "self_approval";
const WAITS_MS = 24 * 60 * 60 * 1000;
/** The right to change the settings, and to confirm somebody else's change. */
const RIGHT = "system:write";
/** Exceeds the people of an organization. */
const PEOPLE_READ_MAX = 1000;
const SHIELD = { type: "shield", id: "shield" } as const;

/**
 * Whether people may approve their own requests after a change of the settings. Allowing it waits for a second
 * person who may change the settings; without one it takes effect at once.
 * @throws {Fault} FORBIDDEN for an API key, and a password that was reset, CONFLICT while somebody else's change waits
 */
export async function selfApprovalAfter(
  work: Writing,
  before: boolean,
  wanted = before,
): Promise<boolean> {
  if (wanted === before || !wanted) return wanted;
  const { actor, tx } = work;
  await mustBePerson(work);
  const waiting = await tx.get(selfApprovalChanges, actor.tenant, RECORD_ID);
  if (waiting === null && !await isAnotherThere(tx, actor)) {
    await allow(work, actor.userId, null);
    return true;
  }
  if (waiting === null) await hold(work);
  else if (waiting.requested_by !== actor.userId) throw waits(waiting);
  return false;
}

/** Keeps the change until a second person decides it, and notifies everybody who can. */
async function hold(work: Writing): Promise<void> {
  const { actor, ports, tx } = work;
  const now = ports.clock.now();
  const change = tx.put(selfApprovalChanges, actor.tenant, {
    id: RECORD_ID,
    change_id: ports.entropy.id("chg"),
    requested_by: actor.userId,
    created_at_ms: now,
    expires_at_ms: now + WAITS_MS,
  });
  const { change_id, requested_by, expires_at_ms } = change;
  const details = { change_id, requested_by, expires_at: iso(expires_at_ms) };
  const happening = { type: "self_approval_requested", resource: SHIELD, details } as const;
  emit(work, tx, actor.tenant, happening);
  await notifySettingsEditors(work, tx, actor.tenant, happening);
}

async function allow(work: Writing, requested_by: string, confirmed_by: string | null) {
  const { actor, tx } = work;
  const details = { requested_by, confirmed_by };
  const happening = { type: "self_approval_allowed", resource: SHIELD, details } as const;
  emit(work, tx, actor.tenant, happening);
  await notifySettingsEditors(work, tx, actor.tenant, happening);
}

/**
 * Confirms a pending change by a second person.
 * @throws {Fault} NOT_FOUND, FORBIDDEN for an API key, a reset password and the person who asked, CONFLICT when
 * that person may no longer change the settings
 */
export async function confirmSelfApproval(work: Writing, changeId: string): Promise<void> {
  const { actor, tx } = work;
  await mustBePerson(work);
  const change = await waitingChange(tx, actor.tenant, changeId);
  if (change.requested_by === actor.userId) {
    throw new Fault("FORBIDDEN", "You cannot confirm your own request. Ask another administrator.");
  }
  if (!await mayChange(tx, actor, change.requested_by)) {
    throw new Fault(
      "CONFLICT",
      "The requester may no longer change the settings. Request it again.",
    );
  }
  if (!await mayChange(tx, actor, actor.userId)) throw new Fault("INSUFFICIENT_SCOPES");
  tx.delete(selfApprovalChanges, actor.tenant, RECORD_ID);
  await allow(work, change.requested_by, actor.userId);
}

/** Refuses a pending change; the person who asked withdraws it the same way. @throws {Fault} NOT_FOUND */
export async function refuseSelfApproval(work: Writing, changeId: string): Promise<void> {
  const { actor, tx } = work;
  const { requested_by } = await waitingChange(tx, actor.tenant, changeId);
  tx.delete(selfApprovalChanges, actor.tenant, RECORD_ID);
  const details = { change_id: changeId, requested_by, refused_by: actor.id };
  emit(work, tx, actor.tenant, { type: "self_approval_refused", resource: SHIELD, details });
}

/** The pending change, as the settings show it. */
export async function pendingSelfApproval({ db, actor }: Pick<Work, "db" | "actor">) {
  const change = await db.get(selfApprovalChanges, actor.tenant, RECORD_ID);
  return change && {
    id: change.change_id,
    requested_by: change.requested_by,
    created_at: iso(change.created_at_ms),
    expires_at: iso(change.expires_at_ms),
  };
}

async function waitingChange(tx: Tx, tenant: Tenant, changeId: string) {
  const change = await tx.get(selfApprovalChanges, tenant, RECORD_ID);
  if (change?.change_id === changeId) return change;
  throw new Fault("NOT_FOUND", "There is no such request, or it was decided or has expired.");
}

/** Whether anybody but the caller could confirm. */
async function isAnotherThere(tx: Tx, actor: Actor): Promise<boolean> {
  const { items } = await tx.list(users, homeOf(actor.tenant.org), { limit: PEOPLE_READ_MAX });
  for (const { id } of items) {
    if (id !== actor.userId && await mayChange(tx, actor, id)) return true;
  }
  return false;
}

const mayChange = async (db: Reader, { tenant }: Actor, userId: string): Promise<boolean> =>
  (await personRights(db, tenant.org, userId)).has(RIGHT);

/** Two people must ask and confirm; keys are shared, and others may know a reset password. */
async function mustBePerson({ actor, tx }: Writing): Promise<void> {
  mustActForPerson(actor);
  if (actor.kind !== "user") {
    throw new Fault(
      "FORBIDDEN",
      "Only a signed-in user may allow self-approval. Sign in and try again.",
    );
  }
  if (isAmong(await peopleBehind(tx, actor), [actor.userId])) return;
  throw new Fault(
    "FORBIDDEN",
    "Your password was reset, so others may know it. Change it with POST " +
      "/api/account/password first.",
  );
}

const waits = ({ change_id, requested_by }: SelfApprovalChangeRecord) =>
  new Fault(
    "CONFLICT",
    "Another administrator already requested this. Confirm it with POST " +
      "/api/shield/self-approval/confirm.",
    { change_id, requested_by },
  );
