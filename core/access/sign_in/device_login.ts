import { hash } from "node:crypto";
import { Buffer } from "node:buffer";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { type DeviceLoginRecord, deviceLogins, sessions, users } from "../../../kv/records/user.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { iso } from "../../codec/codec.ts";
import type { Context } from "../../context/context.ts";
import { emit } from "../../events/events.ts";
import { Fault, limitReached } from "../../fault/fault.ts";
import type { Actor } from "../../identity/identity.ts";
import type { Entropy } from "../../ports/ports.ts";
import type { Stepping, Writing } from "../../work/work.ts";
import { makeCheckedText } from "../keys/value.ts";
import { networkOf } from "../limits/network.ts";
import type { Attempted, FailureThrottle } from "../limits/throttle.ts";
import { mustActForPerson, mustBeSignedIn } from "../people/person.ts";
import { homeOf } from "../roles/grant.ts";
import { issueTokens, openSession } from "./open_session.ts";
import type { SignIn } from "./parts.ts";

/**
 * Signs a terminal in (RFC 8628): it shows a short code, a signed-in person approves the code elsewhere, and the
 * terminal, which polls, gets a session of that person. Each step is one transaction on the request's record, so it
 * is taken once, at any instance.
 */

/** Lifetime of both codes. */
const TTL_MS = 10 * 60 * 1000;
const INTERVAL_SECONDS = 5;
/** What RFC 8628 adds to the interval of a terminal that polls too often. */
const SLOWER_SECONDS = 5;
const INTERVAL_SECONDS_MAX = 60;
/** Requests of one network that nobody has decided, those of the last 10 minutes that expired included. */
const PENDING_MAX = 100;
const DEVICE_CODE_PREFIX = "svc_login_";
/** Crockford's: no letter that looks like a digit, and no U. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CODE_CHARS = 8;

/** Begins a sign-in; only this answer shows the codes. @throws {Fault} RATE_LIMIT_EXCEEDED */
export async function startDeviceLogin(
  { tx, ports: { clock, entropy }, sealer, request }: Writing,
  { device_name }: { readonly device_name: string },
) {
  const network = networkOf(request.address);
  if (await tx.countBy(deviceLogins, SYSTEM, "network", [network]) >= PENDING_MAX) {
    const retry_after = TTL_MS / 1000;
    const reset = Math.ceil(clock.now() / 1000) + retry_after;
    const message = "Too many sign-ins of this network wait for approval. Try again in 10 minutes.";
    throw limitReached(message, {
      limit: PENDING_MAX,
      scope: "device_login",
      of: { type: "address", id: network },
      raise: null,
      reset,
      retry_after,
    });
  }
  const device_code = makeCheckedText(DEVICE_CODE_PREFIX, entropy);
  const user_code = makeUserCode(entropy);
  const nowMs = clock.now();
  const login = tx.insert(deviceLogins, SYSTEM, {
    id: entropy.id("dlg"),
    device_hash: hash("sha256", device_code),
    code_mac: macOf({ sealer }, user_code),
    device_name,
    address: request.address,
    network,
    created_at_ms: nowMs,
    expires_at_ms: nowMs + TTL_MS,
    interval_seconds: INTERVAL_SECONDS,
    polled_at_ms: null,
    state: "pending",
    approved_by: null,
  });
  return {
    device_code,
    user_code,
    expires_at: iso(login.expires_at_ms),
    expires_in: TTL_MS / 1000,
    interval: INTERVAL_SECONDS,
  };
}

/**
 * Asks whether the sign-in was approved; after an approval the terminal gets its session, once.
 * @throws {Fault} VALIDATION_FAILED for an unknown code, FORBIDDEN after a denial, GONE after the codes' lifetime or
 * when the person may no longer sign in, CONFLICT for a used code
 */
export async function pollDeviceLogin(
  work: Stepping,
  { tokens }: Pick<SignIn, "tokens">,
  { device_code }: { readonly device_code: string },
) {
  const { store, ports } = work;
  const polled = await store.transact(async (tx) => {
    const found = await tx.lookup(deviceLogins, "device", [hash("sha256", device_code)]);
    if (found === null) throw unknown("device_code");
    const login = found.record;
    mustBeOpen(login, ports.clock.now());
    if (login.state === "denied") {
      throw new Fault("FORBIDDEN", "The person denied this sign-in.", { reason: "access_denied" });
    }
    const sinceMs = ports.clock.now() - (login.polled_at_ms ?? -Infinity);
    const tooSoon = sinceMs >= 0 && sinceMs < login.interval_seconds * 1000;
    if (tooSoon || login.approved_by === null) return { status: wait(tx, login, tooSoon, ports) };
    tx.put(deviceLogins, SYSTEM, { ...login, state: "used" });
    return { login, ...await enter(work, tx, login.approved_by, login.device_name) };
  });
  if ("status" in polled) return { ...polled.status, session: null };
  const { login, organization, user, session } = polled;
  const interval = login.interval_seconds;
  const issued = await issueTokens(work, tokens, organization, user, session);
  return { status: "complete" as const, interval, session: issued };
}

/** Records a poll that comes too early or before the decision. */
function wait(
  tx: Tx,
  login: DeviceLoginRecord,
  tooSoon: boolean,
  { clock }: Pick<Context["ports"], "clock">,
) {
  const slower = Math.min(login.interval_seconds + SLOWER_SECONDS, INTERVAL_SECONDS_MAX);
  const interval_seconds = tooSoon ? slower : login.interval_seconds;
  tx.put(deviceLogins, SYSTEM, { ...login, interval_seconds, polled_at_ms: clock.now() });
  const status = tooSoon ? "slow_down" as const : "authorization_pending" as const;
  return { status, interval: interval_seconds };
}

/** Opens the session, if the person who approved it may still sign in. */
async function enter(
  work: Stepping,
  tx: Tx,
  approved: NonNullable<DeviceLoginRecord["approved_by"]>,
  device_name: string,
) {
  const tenant = homeOf(approved.org);
  const organization = await tx.get(organizations, SYSTEM, approved.org);
  const user = await tx.get(users, tenant, approved.user_id);
  const approving = await tx.get(sessions, tenant, approved.session_id);
  if (
    !organization?.active || !user?.active || user.session_epoch !== approved.epoch ||
    approving === null
  ) {
    const message = "The person who approved this sign-in may no longer sign in, changed their " +
      "password or ended the session that approved it. Start again.";
    throw new Fault("GONE", message, { reason: "void" });
  }
  emit({ ...work, actor: { id: user.id } }, tx, tenant, {
    type: "user_login",
    resource: { type: "user", id: user.id },
    details: {
      email: user.email,
      address: work.request.address,
      second_factor: approved.second_factor ? "approving_session" : "none",
      device_name,
    },
  });
  const session = await openSession(work, tx, tenant, user, {
    second_factor: approved.second_factor,
    by_code: true,
    ...(approved.issuer !== undefined && { issuer: approved.issuer }),
  });
  return { organization, user, session };
}

/** A terminal's request, by the code that it shows. @throws {Fault} as `decideDeviceLogin` */
export async function readDeviceLogin(
  work: Stepping,
  throttle: Pick<FailureThrottle, "attempt">,
  { user_code }: { readonly user_code: string },
) {
  return await withCode(work, throttle, user_code, (_tx, login) => Promise.resolve(show(login)));
}

/**
 * Approves or denies a terminal's sign-in as the caller. Whoever approves lends the terminal all of their rights.
 * @throws {Fault} FORBIDDEN for anybody but a signed-in user, VALIDATION_FAILED for an unknown code, CONFLICT for a
 * decided one, GONE for an expired one, RATE_LIMIT_EXCEEDED after too many wrong codes
 */
export async function decideDeviceLogin(
  work: Stepping,
  throttle: Pick<FailureThrottle, "attempt">,
  { user_code, approve }: { readonly user_code: string; readonly approve: boolean },
) {
  return await withCode(work, throttle, user_code, async (tx, login, { tenant, sessionId }) => {
    const own = await tx.get(sessions, homeOf(tenant.org), sessionId);
    const user = own === null ? null : await tx.get(users, homeOf(tenant.org), own.user_id);
    if (own === null || user === null) throw new Fault("FORBIDDEN", "Your session has ended.");
    const { epoch, second_factor, issuer } = own;
    const shown = { second_factor, ...(issuer !== undefined && { issuer }) };
    const decided = tx.put(deviceLogins, SYSTEM, {
      ...login,
      state: approve ? "approved" : "denied",
      approved_by: approve
        ? { org: tenant.org, user_id: user.id, session_id: own.id, epoch, ...shown }
        : null,
    });
    emit(work, tx, tenant, {
      type: approve ? "device_login_approved" : "device_login_denied",
      resource: { type: "user", id: user.id },
      details: { email: user.email, device_name: login.device_name, address: login.address },
    });
    return show(decided);
  });
}

/** Finds the pending request of a code. Wrong codes count for the person and for their network. */
async function withCode<R>(
  { store, sealer, ports, actor, request }: Stepping,
  throttle: Pick<FailureThrottle, "attempt">,
  code: string,
  use: (tx: Tx, login: DeviceLoginRecord, by: Actor & { sessionId: string }) => Promise<R>,
): Promise<R> {
  mustBeSignedIn(actor);
  mustActForPerson(actor);
  const looking = () =>
    store.transact(async (tx) => {
      const found = await tx.lookup(deviceLogins, "code", [macOf({ sealer }, code)]);
      if (found === null) throw unknown("user_code");
      mustBeOpen(found.record, ports.clock.now());
      if (found.record.state !== "pending") throw used();
      return await use(tx, found.record, actor);
    });
  const network = networkOf(request.address);
  const [person, place]: Attempted[] = [
    { key: actor.userId, of: { type: "user", id: actor.userId }, whose: "at codes by this user" },
    { key: network, of: { type: "address", id: network }, whose: "from your network address" },
  ];
  return await throttle.attempt(person!, () => throttle.attempt(place!, looking));
}

const show = (login: DeviceLoginRecord) => ({
  device_name: login.device_name,
  address: login.address,
  status: login.state === "used" ? "approved" as const : login.state,
  created_at: iso(login.created_at_ms),
  expires_at: iso(login.expires_at_ms),
});

/** @throws {Fault} CONFLICT, GONE */
function mustBeOpen({ state, expires_at_ms }: DeviceLoginRecord, nowMs: number): void {
  if (state === "used") throw used();
  if (nowMs < expires_at_ms) return;
  throw new Fault("GONE", "The code has expired. Start the sign-in again.", {
    reason: "expired_token",
  });
}

/** A code of 40 random bits to read out and type: `7K3M-QX1D`. */
function makeUserCode(entropy: Pick<Entropy, "bytes">): string {
  // 32 letters divide the 256 values of a byte, so each letter is equally likely.
  const text = [...entropy.bytes(CODE_CHARS)].map((byte) => ALPHABET.charAt(byte & 31)).join("");
  return `${text.slice(0, CODE_CHARS / 2)}-${text.slice(CODE_CHARS / 2)}`;
}

/** The MAC by which a code is found, however its letters, dashes and spaces were typed. */
function macOf({ sealer }: Pick<Context, "sealer">, code: string): string {
  const typed = code.toUpperCase().replaceAll(/[\s-]/g, "");
  const read = typed.replaceAll("O", "0").replaceAll(/[IL]/g, "1");
  return Buffer.from(sealer.mac(`device login ${read}`)).toString("hex");
}

const unknown = (field: string) =>
  new Fault("VALIDATION_FAILED", "The code is unknown. Check it for typing errors.", {
    reason: "unknown",
    issues: [{ path: `body.${field}`, message: "is unknown" }],
  });
const used = () =>
  new Fault("CONFLICT", "The code was already used. Start the sign-in again.", { reason: "used" });
