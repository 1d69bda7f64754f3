import { hash } from "node:crypto";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";
import { organizations } from "../../../kv/records/organization.ts";
import {
  type PasswordResetRecord,
  passwordResets,
  type UserRecord,
  users,
} from "../../../kv/records/user.ts";
import type { Found, Reader } from "../../../kv/store/reader.ts";
import { iso } from "../../codec/codec.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import type { Stepping, Writing } from "../../work/work.ts";
import { credentialInHand } from "../keys/made_with.ts";
import { mustHoldNewValue } from "../keys/owned.ts";
import { peopleBehind, without } from "../keys/people_behind.ts";
import { makeSecretText } from "../keys/value.ts";
import { networkOf } from "../limits/network.ts";
import { personOf } from "../roles/assign.ts";
import { giverOf, homeOf, mayStillGive, mustBeAbleToGive, sourceBy } from "../roles/grant.ts";
import type { SignIn } from "./parts.ts";
import { startSessionsAnew } from "./password.ts";
import { hashPassword } from "./passwords.ts";

const LINK_MS = DAY_MS;
/** 120 bits cannot be guessed. */
const TOKEN_BYTES = 15;

/**
 * Creates a link that resets somebody's password. Only this answer shows its token. It replaces the link before.
 * @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES and FORBIDDEN for a person with more rights than the caller,
 * CONFLICT for the caller and for a deactivated person
 */
export async function createPasswordReset(work: Writing, userId: string) {
  const { ports, actor, tx } = work;
  mustHoldNewValue(actor);
  const user = await personOf(tx, actor.tenant.org, userId);
  if (user.id === actor.userId) {
    throw new Fault("CONFLICT", "Change your own password with POST /api/account/password.");
  }
  await mustBeAbleToGive(work, await giverOf(work), user.roles);
  if (!user.active) {
    throw new Fault("CONFLICT", "The user is deactivated. Activate them first.");
  }
  const token = makeSecretText("reset_", TOKEN_BYTES, ports.entropy);
  const expires_at_ms = ports.clock.now() + LINK_MS;
  tx.put(passwordResets, homeOf(actor.tenant.org), {
    id: user.id,
    hash: hash("sha256", token),
    epoch: user.session_epoch,
    created_by: actor.userId,
    created_with: await credentialInHand(work),
    seen_by: await peopleBehind(tx, actor),
    expires_at_ms,
  });
  emit(work, tx, actor.tenant, {
    type: "password_reset_created",
    resource: { type: "user", id: user.id },
    details: { email: user.email, expires_at: iso(expires_at_ms) },
  });
  return { token, expires_at: iso(expires_at_ms) };
}

/**
 * Sets the password of a link's person, and ends all their sessions. The second factor stays.
 * @throws {Fault} GONE for an unknown or ended link, VALIDATION_FAILED, RATE_LIMIT_EXCEEDED
 */
export async function usePasswordReset(
  work: Stepping,
  { logins }: Pick<SignIn, "logins">,
  input: { readonly token: string; readonly password: string },
) {
  const { store, ports } = work;
  const network = networkOf(work.request.address);
  const who = {
    key: `password reset ${network}`,
    of: { type: "address", id: network },
    whose: "with reset links from your network address",
  } as const;
  // Checked before the expensive hash, and again in the transaction: somebody else may be faster.
  await logins.attempt(who, () => openReset(store, input.token, ports.clock.now()));
  const password = await hashPassword(input.password, ports);
  return await store.transact(async (tx) => {
    const { tenant, record: reset, user } = await openReset(tx, input.token, ports.clock.now());
    // Whoever has seen the link may have chosen the password.
    const changed = { ...user, password, also_of: without(reset.seen_by, user.id) };
    const sessions_ended = await startSessionsAnew(tx, { tenant, sessionId: null }, changed);
    tx.delete(passwordResets, tenant, reset.id);
    emit({ ...work, actor: { id: user.id } }, tx, tenant, {
      type: "password_reset_used",
      resource: { type: "user", id: user.id },
      details: {
        email: user.email,
        created_by: reset.created_by,
        address: work.request.address,
        sessions_ended,
      },
    });
    return { email: user.email, sessions_ended };
  });
}

/** The link of a token and its person, if it works now. @throws {Fault} GONE */
async function openReset(
  db: Reader,
  token: string,
  nowMs: number,
): Promise<Found<PasswordResetRecord> & { readonly user: UserRecord }> {
  const found = await db.lookup(passwordResets, "token", [hash("sha256", token)]);
  if (found === null || nowMs >= found.record.expires_at_ms) throw ended();
  const { tenant, record: reset } = found;
  const organization = await db.get(organizations, SYSTEM, tenant.org);
  const user = await db.get(users, tenant, reset.id);
  if (!organization?.active || !user?.active || user.session_epoch !== reset.epoch) throw ended();
  const source = sourceBy(reset.created_by, reset.created_with);
  if (!await mayStillGive(db, tenant, source, user.roles, nowMs)) throw ended();
  return { ...found, user };
}

const ended = () =>
  new Fault(
    "GONE",
    "This link is no longer valid: it was used, replaced or expired, the account has changed, or " +
      "whoever created it may no longer do so. Ask an administrator for a new one.",
  );
