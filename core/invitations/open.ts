import type { Tenant } from "../../kv/collection.ts";
import { type InvitationRecord, invitations } from "../../kv/records/invitation.ts";
import type { Tx } from "../../kv/tx.ts";

/** Open invitations of one organization. */
export const INVITATIONS_MAX = 200;
/** Those that several callers make at one moment may be more than the most. */
const READ_MAX = 2 * INVITATIONS_MAX;

/** Those of an organization's invitations that can still be accepted. */
export async function openInvitations(
  tx: Tx,
  home: Tenant,
  nowMs: number,
): Promise<InvitationRecord[]> {
  // The last to end come first, so that those that have expired hide none.
  const last = { index: "open", prefix: ["open"], reverse: true };
  const { items } = await tx.list(invitations, home, { ...last, limit: READ_MAX });
  return items.filter(({ ends_at_ms }) => nowMs < ends_at_ms);
}
