import type { Tenant } from "../../../kv/store/collection.ts";
import { type InvitationRecord, invitations } from "../../../kv/records/invitation.ts";
import { reserveQuota } from "../../../kv/store/quota.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { Fault } from "../../fault/fault.ts";

/** Open invitations of one organization. */
export const INVITATIONS_MAX = 200;

/** Takes room for one more, which holds when this commits. @throws {Fault} CONFLICT */
export async function mustHaveRoom(tx: Tx, home: Tenant, nowMs: number): Promise<void> {
  const open = async () => (await openInvitations(tx, home, nowMs)).length;
  if (await reserveQuota(tx, home, invitations, INVITATIONS_MAX, open)) return;
  throw new Fault("CONFLICT", `${INVITATIONS_MAX} invitations are open. Withdraw one first.`);
}

/** Those of an organization's invitations that can still be accepted. */
export async function openInvitations(
  tx: Tx,
  home: Tenant,
  nowMs: number,
): Promise<InvitationRecord[]> {
  // The last to end come first, so that those that have expired hide none.
  const last = { index: "open", prefix: ["open"], reverse: true };
  const { items } = await tx.list(invitations, home, { ...last, limit: INVITATIONS_MAX });
  return items.filter(({ ends_at_ms }) => nowMs < ends_at_ms);
}
