import type { Tenant } from "../../../kv/store/collection.ts";
import { type InvitationRecord, invitations } from "../../../kv/records/invitation.ts";
import { reserveQuota } from "../../../kv/store/quota.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { Fault } from "../../fault/fault.ts";

/** Maximum number of open invitations in one organization. */
export const INVITATIONS_MAX = 200;

/** Counts one more open invitation, if the maximum allows it. @throws {Fault} CONFLICT */
export async function mustAllowInvitation(tx: Tx, home: Tenant, nowMs: number): Promise<void> {
  const open = async () => (await openInvitations(tx, home, nowMs)).length;
  if (await reserveQuota(tx, home, invitations, INVITATIONS_MAX, open)) return;
  throw new Fault(
    "CONFLICT",
    `There are already ${INVITATIONS_MAX} open invitations. Withdraw one first.`,
  );
}

/** The organization's invitations that can still be accepted. */
export async function openInvitations(
  tx: Tx,
  home: Tenant,
  nowMs: number,
): Promise<InvitationRecord[]> {
  // The last to end come first, so that expired ones do not displace open ones.
  const last = { index: "open", prefix: ["open"], reverse: true };
  const { items } = await tx.list(invitations, home, { ...last, limit: INVITATIONS_MAX });
  return items.filter(({ ends_at_ms }) => nowMs < ends_at_ms);
}
