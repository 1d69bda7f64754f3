import { SYSTEM, type Tenant } from "../kv/collection.ts";
import { type OrganizationRecord, organizations } from "../kv/records/organization.ts";
import { sessions, type UserRecord, users } from "../kv/records/user.ts";
import type { Actor, App, Stepping, Work } from "./app.ts";
import { issuerOf } from "./authenticate.ts";
import { emit } from "./events.ts";
import { Fault } from "./fault.ts";
import { insertVerdictKeys } from "./agents/verdicts.ts";
import { insertAuditKeys } from "./audit/keys.ts";
import { insertShieldSettings } from "./shield/settings.ts";
import { iso } from "./lists.ts";
import { networkOf } from "./network.ts";
import { hashPassword, needsRehash, verifyPassword } from "./passwords.ts";
import { constantTimeEqual, encodeBase62 } from "./text.ts";
import { signToken, tokenExpiresAtMs } from "./tokens.ts";
import type { Found, Reader } from "../kv/store.ts";
import type { Tx } from "../kv/tx.ts";

/** How long a JWT and its session are good. */
export const TOKEN_TTL_MS = 60 * 60 * 1000;

/** Failed sign-ins for one email from one address, and for how long they count. */
export const LOGIN_TRIES = 10;
export const LOGIN_WINDOW_MS = 15 * 60 * 1000;

/** 120 bits, of which nobody guesses one. */
const CLAIM_CODE_BYTES = 15;

export interface NewAccount {
  readonly email: string;
  readonly password: string;
  readonly organization: string;
  readonly claim_code?: string | undefined;
}

/**
 * Makes an organization with its owner, and signs the owner in. The first organization is the host.
 * @throws {Fault} FORBIDDEN, CONFLICT
 */
export async function signUp(work: Stepping, input: NewAccount) {
  const { app } = work;
  // Looked at before the hash, which is dear, and again after it: somebody else may have been first.
  await admitSignUp(app, app.store, input);
  const password = await hashPassword(input.password, app.ports.entropy);
  const made = await app.store.transact(async (tx) => {
    const host = await admitSignUp(app, tx, input);
    if (await tx.lookup(users, "email", [input.email]) !== null) {
      throw new Fault("CONFLICT", "An account with this email exists. Sign in instead.");
    }
    const now = app.ports.clock.now();
    const organization = tx.insert(organizations, SYSTEM, {
      id: app.ports.entropy.id("org"),
      name: input.organization,
      plan: app.config().default_plan,
      active: true,
      host,
      created_at_ms: now,
      limits: null,
    });
    insertShieldSettings(tx, organization.id);
    insertVerdictKeys(app, tx, organization.id);
    insertAuditKeys(app, tx, organization.id);
    const tenant: Tenant = { org: organization.id, space: "live" };
    const user = tx.insert(users, tenant, {
      id: app.ports.entropy.id("usr"),
      email: input.email,
      password,
      roles: ["owner"],
      active: true,
      created_at_ms: now,
    });
    const by = { ...work, actor: { id: user.id } };
    emit(by, tx, tenant, {
      type: "organization_created",
      resource: { type: "organization", id: organization.id },
      details: { name: organization.name, plan: organization.plan, host },
    });
    emit(by, tx, tenant, {
      type: "user_created",
      resource: { type: "user", id: user.id },
      details: { email: user.email, roles: user.roles },
    });
    return { organization, user, session: openSession(app, tx, tenant, user) };
  });
  return await signedIn(app, made.organization, made.user, made.session);
}

/**
 * Whether a signup that may pass now makes the host: the first one does.
 * @throws {Fault} FORBIDDEN
 */
async function admitSignUp(app: App, db: Reader, input: NewAccount): Promise<boolean> {
  const { local, signup } = app.settings;
  const first = await db.find(organizations, SYSTEM, "host", ["host"]) === null;
  if (first) {
    if (local || constantTimeEqual(input.claim_code ?? "", claimCodeOf(app))) return true;
    throw new Fault(
      "FORBIDDEN",
      "The first signup needs `claim_code`: Relay prints it when it starts.",
    );
  }
  if (signup === "open") return false;
  throw new Fault(
    "FORBIDDEN",
    signup === "closed"
      ? "This server takes no new organizations."
      : "This server takes new organizations by invitation only.",
  );
}

/** What the first signup must send: the same on every instance and at every start. */
export const claimCodeOf = ({ sealer }: App): string =>
  `claim_${encodeBase62(sealer.mac("claim code").subarray(0, CLAIM_CODE_BYTES))}`;

/**
 * Signs a user in. Unknown users and wrong passwords get the same answer in the same time.
 * @throws {Fault} INVALID_LOGIN, RATE_LIMIT_EXCEEDED
 */
export async function logIn(work: Stepping, input: { email: string; password: string }) {
  const { app } = work;
  const tryKey = `${networkOf(work.request.address)} ${input.email}`;
  const waitMs = app.logins.begin(tryKey);
  if (waitMs > 0) throw tooManyTries(app, waitMs);
  const found = await app.store.lookup(users, "email", [input.email]);
  const good = await verifyPassword(input.password, found?.record.password ?? null);
  if (found === null || !good) {
    // Not waited for: an unknown user has nothing to record, and must not be told by a faster answer.
    if (found !== null) recordFailure(work, found.tenant, found.record);
    throw new Fault("INVALID_LOGIN");
  }
  app.logins.succeed(tryKey);
  const { tenant, record: user } = found;
  const organization = await app.store.get(organizations, SYSTEM, tenant.org);
  if (!user.active || !organization?.active) {
    throw new Fault("INVALID_LOGIN", "The user or the organization is not active.");
  }
  const password = needsRehash(user.password)
    ? await hashPassword(input.password, app.ports.entropy)
    : user.password;
  const session = await app.store.transact(async (tx) => {
    await keepHash(tx, found, password);
    emit({ ...work, actor: { id: user.id } }, tx, tenant, {
      type: "user_login",
      resource: { type: "user", id: user.id },
      details: { email: user.email, address: work.request.address },
    });
    return openSession(app, tx, tenant, user);
  });
  return await signedIn(app, organization, user, session);
}

/** Stores a hash that was made at today's cost, unless the password has changed meanwhile. */
async function keepHash(tx: Tx, { tenant, record }: Found<UserRecord>, password: string) {
  if (password === record.password) return;
  const user = await tx.get(users, tenant, record.id);
  if (user?.password === record.password) tx.put(users, tenant, { ...user, password });
}

function recordFailure(work: Stepping, tenant: Tenant, user: UserRecord): void {
  work.app.store.transact((tx) =>
    emit({ ...work, actor: { id: user.id } }, tx, tenant, {
      type: "user_login_failed",
      resource: { type: "user", id: user.id },
      details: { email: user.email, address: work.request.address },
    })
  ).catch((error) => {
    work.app.ports.log.error("a failed sign-in could not be recorded", { error: String(error) });
  });
}

function tooManyTries(app: App, waitMs: number): Fault {
  const retry_after = Math.ceil(waitMs / 1000);
  return new Fault(
    "RATE_LIMIT_EXCEEDED",
    `Too many sign-ins failed. Try again in ${retry_after} s.`,
    {
      limit: LOGIN_TRIES,
      scope: "login",
      reset: Math.ceil((app.ports.clock.now() + waitMs) / 1000),
      retry_after,
    },
  );
}

/** Who the caller is and what it may do. */
export async function accountInfo({ db, actor }: Work) {
  const user = await db.get(users, { org: actor.tenant.org, space: "live" }, actor.userId);
  const organization = await db.get(organizations, SYSTEM, actor.tenant.org);
  if (user === null || organization === null) throw new Fault("NOT_FOUND");
  return {
    user: {
      id: user.id,
      email: user.email,
      roles: user.roles,
      created_at: iso(user.created_at_ms),
    },
    organization: showOrganization(organization),
    credential: { type: credentialType(actor), id: actor.id },
    scopes: [...actor.rights],
    space: actor.tenant.space,
  };
}

const credentialType = (actor: Actor) =>
  actor.kind === "api_key" ? "api_key" as const : "jwt" as const;

const showOrganization = (organization: OrganizationRecord) => ({
  id: organization.id,
  name: organization.name,
  plan: organization.plan,
  host: organization.host,
  created_at: iso(organization.created_at_ms),
});

function openSession(app: App, tx: Tx, tenant: Tenant, user: UserRecord) {
  const now = app.ports.clock.now();
  return tx.insert(sessions, tenant, {
    id: app.ports.entropy.id("ses"),
    user_id: user.id,
    created_at_ms: now,
    expires_at_ms: tokenExpiresAtMs(now, TOKEN_TTL_MS),
  });
}

async function signedIn(
  app: App,
  organization: OrganizationRecord,
  user: UserRecord,
  session: { id: string; created_at_ms: number; expires_at_ms: number },
) {
  const key = await app.signingKeys.current();
  const claims = { sub: user.id, org: organization.id, sid: session.id };
  const options = {
    issuer: issuerOf(app),
    nowMs: session.created_at_ms,
    ttlMs: TOKEN_TTL_MS,
    jti: app.ports.entropy.uuid(),
  };
  return {
    token: await signToken(key, claims, options),
    token_type: "Bearer" as const,
    expires_at: iso(session.expires_at_ms),
    user: { id: user.id, email: user.email, role: user.roles[0] ?? "viewer" },
    organization: { id: organization.id, name: organization.name },
  };
}
