import type { ApprovalRecord } from "../../../kv/records/approval.ts";
import { sessions } from "../../../kv/records/user.ts";
import { isWithin } from "../../../kv/store/clock.ts";
import { MINUTE_MS } from "../../../kv/store/durations.ts";
import { hasSoleMember, haveInCommon, homeOf, isAmong, type People } from "../../access/access.ts";
import type { Work } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { requestersOf } from "./votes.ts";

/** The age of a sign-in that confirms. */
const FRESH_MS = 15 * MINUTE_MS;
/** Approves a request in person, as the JSON of its body. */
const CONFIRMATION = '{"confirm_self_approval": true}';

/** What the only member of an organization does next to approve their own request. */
const NEXT = {
  sign_in: "You cannot approve your own request with this credential. You are the only user, so " +
    "you may confirm it in person: sign in now with POST /api/v1/login, and approve with the new " +
    `token and ${CONFIRMATION}.`,
  change_password: "Your password was reset, so others may know it. Change it with POST " +
    `/api/account/password, sign in again, and approve with ${CONFIRMATION}.`,
  confirm: "This is your own request. You are the only user, so you may approve it: send " +
    `${CONFIRMATION}. The audit log shows it as self-approved.`,
} as const;

/** What the only member of an organization does next. */
export type NextStep = keyof typeof NEXT;

/**
 * Whether an approval by these people may be by the requester, by any credential that they may hold. Then the
 * settings must allow it, or the only member that the organization ever had must confirm it in person.
 * @throws {Fault} FORBIDDEN
 */
export async function isSelfApproval(
  work: Work,
  approval: ApprovalRecord,
  people: People,
  confirmed: boolean,
): Promise<boolean> {
  const { actor, db } = work;
  const requesters = requestersOf(approval);
  if (!haveInCommon(requesters, people)) return false;
  if (approval.self_approval) return true;
  if (!await hasSoleMember(db, actor.tenant.org)) {
    const byAnybody = haveInCommon(requesters, []);
    throw new Fault("FORBIDDEN", refusalOf(approval, actor.userId, byAnybody));
  }
  const next = await nextStep(work, approval, people, confirmed);
  if (next === null) return true;
  throw new Fault("FORBIDDEN", NEXT[next], { reason: "own_request", next });
}

/**
 * What is missing for a confirmation in person; null for nothing. The sign-in must be recent and newer than the
 * request: whoever made the request, with a key or a session that a program was given, cannot approve it without
 * the password.
 */
async function nextStep(
  { actor: { tenant, userId, sessionId }, ports, store }: Work,
  approval: ApprovalRecord,
  people: People,
  confirmed: boolean,
): Promise<NextStep | null> {
  if (sessionId === null) return "sign_in";
  if (!isAmong(people, [userId])) return "change_password";
  // Read outside the transaction, because a shared store limits its checks. The start of a session never changes.
  const session = await store.get(sessions, homeOf(tenant.org), sessionId);
  const startedAtMs = session?.created_at_ms ?? 0;
  // Whoever has a session may approve a code, so a session that began with one shows no password. An issuer may sign
  // in a browser that has been signed in there for long.
  const hasShownPassword = session?.by_code !== true && session?.issuer === undefined;
  const isFresh = hasShownPassword && startedAtMs > approval.created_at_ms &&
    isWithin(startedAtMs, FRESH_MS, ports.clock.now());
  if (!isFresh) return "sign_in";
  return confirmed ? null : "confirm";
}

function refusalOf(
  { requested_user }: ApprovalRecord,
  userId: string,
  byAnybody: boolean,
): string {
  if (requested_user === userId) {
    return "You cannot approve your own request. Ask another approver, or allow it with " +
      "approvals.self_approval of PATCH /api/shield/settings.";
  }
  return byAnybody
    ? "Anyone may have made this request: it used a password that was reset, or a credential " +
      "made with it. Change the password or rotate the key, then request approval again."
    : "The requester may hold the same credential as you: an API key that another user made, " +
      "rotated or widened, a bot's secret, or a password that was reset. Use a credential that " +
      "only you hold: rotate the key, or change the password.";
}
