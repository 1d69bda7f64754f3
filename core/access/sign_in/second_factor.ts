import { hash } from "node:crypto";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { type SecondFactorRecord, secondFactors } from "../../../kv/records/second_factor.ts";
import { sessions, type UserRecord } from "../../../kv/records/user.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Stepping, Work, Writing } from "../../work/work.ts";
import type { Actor } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { type DetailsOf, emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { makeSecretText } from "../keys/value.ts";
import { isoOrNull } from "../../codec/codec.ts";
import { personOf } from "../roles/assign.ts";
import { homeOf } from "../roles/grant.ts";
import { mustBeUnchanged, mustKnowPassword, startSessionsAnew } from "./password.ts";
import { factorAttempts, mustMatch } from "./factor_code.ts";
import type { SignIn } from "./parts.ts";
import { mustBeSignedIn } from "../people/person.ts";
import { makeTotpSecret, totpUri } from "./totp.ts";

const RECOVERY_CODES = 10;
/** 80 bits cannot be guessed in ten attempts. */
const RECOVERY_BYTES = 10;

/** Whether the caller has a second factor and needs one. @throws {Fault} FORBIDDEN for an API key */
export async function readSecondFactor(work: Work) {
  mustBeSignedIn(work.actor);
  const { db, actor } = work;
  const factor = await db.get(secondFactors, homeOf(actor.tenant.org), actor.userId);
  return showFactor(factor, await isRequired(work));
}

/**
 * Creates a secret for the caller's authenticator. A first code must confirm it before it is used.
 * @throws {Fault} FORBIDDEN for an API key or a wrong password, CONFLICT, RATE_LIMIT_EXCEEDED
 */
export async function enrolSecondFactor(
  work: Stepping,
  logins: SignIn["logins"],
  { password }: { password: string },
) {
  const { store, ports, sealer, actor } = work;
  mustBeSignedIn(actor);
  const user = await mustKnowPassword(work, logins, password);
  const secret = makeTotpSecret(ports.entropy);
  await store.transact(async (tx) => {
    await mustBeUnchanged(tx, actor, user);
    const home = homeOf(actor.tenant.org);
    const known = await tx.get(secondFactors, home, user.id);
    if (known !== null && known.confirmed_at_ms !== null) {
      throw new Fault("CONFLICT", "The second factor is already enabled. Disable it first.");
    }
    tx.put(secondFactors, home, {
      id: user.id,
      sealed_secret: sealer.seal(secret, user.id),
      created_at_ms: ports.clock.now(),
      confirmed_at_ms: null,
      last_step: 0,
      recovery_hashes: [],
    });
  });
  return { secret, uri: totpUri(secret, user.email) };
}

/**
 * Enables the second factor with a first code, and ends the caller's other sessions. Only this answer holds the
 * recovery codes.
 * @throws {Fault} FORBIDDEN for an API key or a wrong code, CONFLICT, RATE_LIMIT_EXCEEDED
 */
export async function confirmSecondFactor(
  work: Stepping,
  logins: SignIn["logins"],
  { code }: { code: string },
) {
  const { ports, actor } = work;
  mustBeSignedIn(actor);
  return await withCode(work, logins, async (tx, user) => {
    const home = homeOf(actor.tenant.org);
    const factor = await tx.get(secondFactors, home, user.id);
    if (factor === null) throw new Fault("CONFLICT", "Create a TOTP secret first.");
    if (factor.confirmed_at_ms !== null) {
      throw new Fault("CONFLICT", "The second factor is already enabled.");
    }
    const step = mustMatch(work, factor, code);
    const recovery_codes = makeRecoveryCodes(ports);
    tx.put(secondFactors, home, {
      ...factor,
      confirmed_at_ms: ports.clock.now(),
      last_step: step,
      recovery_hashes: recovery_codes.map((code) => hash("sha256", code)),
    });
    const sessions_ended = await startSessionsAnew(tx, actor, user, { second_factor: true });
    emitAbout(work, tx, user, "second_factor_enabled", { email: user.email, sessions_ended });
    return { recovery_codes, sessions_ended };
  });
}

/**
 * Creates new recovery codes, which replace the old ones.
 * @throws {Fault} FORBIDDEN for an API key or a wrong code, CONFLICT, RATE_LIMIT_EXCEEDED
 */
export async function replaceRecoveryCodes(
  work: Stepping,
  logins: SignIn["logins"],
  { code }: { code: string },
) {
  const { ports, actor } = work;
  mustBeSignedIn(actor);
  return await withCode(work, logins, async (tx, user) => {
    const factor = await mustBeOn(tx, actor);
    const recovery_codes = makeRecoveryCodes(ports);
    const recovery_hashes = recovery_codes.map((code) => hash("sha256", code));
    const last_step = mustMatch(work, factor, code);
    tx.put(secondFactors, homeOf(actor.tenant.org), { ...factor, last_step, recovery_hashes });
    emitAbout(work, tx, user, "recovery_codes_replaced", { email: user.email });
    return { recovery_codes };
  });
}

/**
 * Disables the second factor with a code of the authenticator or a recovery code, and ends the caller's other
 * sessions. If the organization requires a second factor, this session has no rights until a new one is set up,
 * which is how a person replaces a lost authenticator.
 * @throws {Fault} FORBIDDEN for an API key or a wrong code, CONFLICT when there is none, RATE_LIMIT_EXCEEDED
 */
export async function disableSecondFactor(
  work: Stepping,
  logins: SignIn["logins"],
  { code }: { code: string },
) {
  const { actor } = work;
  mustBeSignedIn(actor);
  return await withCode(work, logins, async (tx, user) => {
    const factor = await mustBeOn(tx, actor);
    if (!factor.recovery_hashes.includes(hash("sha256", code))) mustMatch(work, factor, code);
    tx.delete(secondFactors, homeOf(actor.tenant.org), user.id);
    const sessions_ended = await startSessionsAnew(tx, actor, user, { second_factor: false });
    emitAbout(work, tx, user, "second_factor_disabled", { email: user.email, sessions_ended });
    return showFactor(null, await isRequired({ db: tx, actor }));
  });
}

/**
 * Sets whether everybody in the organization needs a second factor. Sessions without one may then only set one
 * up; API keys keep working.
 * @throws {Fault} FORBIDDEN for an API key, CONFLICT for a session without a second factor
 */
export async function requireSecondFactor(work: Writing, { required }: { required: boolean }) {
  const { actor, tx } = work;
  mustBeSignedIn(actor);
  const session = await tx.get(sessions, homeOf(actor.tenant.org), actor.sessionId);
  if (required && !session?.second_factor) {
    throw new Fault(
      "CONFLICT",
      "Set up your own second factor first. Otherwise you would lose your access.",
    );
  }
  const organization = await tx.get(organizations, SYSTEM, actor.tenant.org);
  if (organization === null) throw new Fault("NOT_FOUND");
  tx.put(organizations, SYSTEM, { ...organization, require_second_factor: required });
  emit(work, tx, actor.tenant, {
    type: "second_factor_required",
    resource: { type: "organization", id: organization.id },
    details: { required },
  });
  return { required };
}

/** Counts the attempt; a success clears the failures before it. */
async function withCode<R>(
  { store, actor }: Stepping,
  logins: SignIn["logins"],
  change: (tx: Tx, user: UserRecord) => Promise<R>,
): Promise<R> {
  const changing = () =>
    store.transact(async (tx) =>
      await change(tx, await personOf(tx, actor.tenant.org, actor.userId))
    );
  return await logins.attempt(factorAttempts(actor.userId), changing);
}

async function mustBeOn(tx: Tx, { tenant, userId }: Actor): Promise<SecondFactorRecord> {
  const factor = await tx.get(secondFactors, homeOf(tenant.org), userId);
  if (factor !== null && factor.confirmed_at_ms !== null) return factor;
  throw new Fault("CONFLICT", "There is no second factor. Set one up first.");
}

const makeRecoveryCodes = ({ entropy }: Context["ports"]): string[] =>
  Array.from(
    { length: RECOVERY_CODES },
    () => makeSecretText("", RECOVERY_BYTES, entropy),
  );

async function isRequired({ db, actor }: Pick<Work, "db" | "actor">): Promise<boolean> {
  const organization = await db.get(organizations, SYSTEM, actor.tenant.org);
  return organization?.require_second_factor ?? false;
}

const showFactor = (factor: SecondFactorRecord | null, required: boolean) => ({
  enabled: factor !== null && factor.confirmed_at_ms !== null,
  required,
  confirmed_at: isoOrNull(factor?.confirmed_at_ms ?? null),
  recovery_codes_left: factor?.recovery_hashes.length ?? 0,
});

function emitAbout<
  T extends "second_factor_enabled" | "second_factor_disabled" | "recovery_codes_replaced",
>(
  work: Stepping,
  tx: Tx,
  user: UserRecord,
  type: T,
  details: DetailsOf<T>,
): void {
  emit(work, tx, work.actor.tenant, {
    type,
    resource: { type: "user", id: user.id },
    details,
  });
}
