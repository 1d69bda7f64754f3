import { SYSTEM } from "../../../kv/store/collection.ts";
import { type OrganizationRecord, organizations } from "../../../kv/records/organization.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import { insertUser } from "../people/new_user.ts";
import { openSession, signedIn } from "./open_session.ts";
import { factorTries, takeSecondFactor } from "./second_factor.ts";
import type { Actor, App, Stepping, Work } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { insertVerdictKeys } from "../../agents/verdicts.ts";
import { insertAuditKeys } from "../../events/trail/keys.ts";
import { insertShield } from "../../commands/guard/settings.ts";
import { iso } from "../../codec/instant.ts";
import { subscribe } from "../../host/plans/subscribe.ts";
import { networkOf } from "../limits/network.ts";
import { joinByInvitation } from "../invitations/accept.ts";
import { hashPassword, needsRehash, verifyPassword } from "./passwords.ts";
import { homeOf } from "../roles/grant.ts";
import { constantTimeEqual, encodeBase62 } from "../../codec/text.ts";
import type { Found, Reader } from "../../../kv/store/reader.ts";

/** 120 bits, of which nobody guesses one. */
const CLAIM_CODE_BYTES = 15;

export interface NewAccount {
  readonly email: string;
  readonly password: string;
  /** Not needed by whoever joins one. */
  readonly organization?: string | undefined;
  readonly claim_code?: string | undefined;
  /** Joins the organization that it is of, instead of making one. */
  readonly invite_code?: string | undefined;
}

/**
 * Signs a person up: into the organization that invites them, or with one of their own.
 * @throws {Fault} FORBIDDEN, CONFLICT, VALIDATION_FAILED, GONE for an invitation that is over
 */
export async function signUp(work: Stepping, input: NewAccount) {
  const { email, password, organization, invite_code } = input;
  if (invite_code !== undefined) {
    return await joinByInvitation(work, { email, password, invite_code });
  }
  if (organization !== undefined) return await foundOrganization(work, { ...input, organization });
  const message = "is needed to make an organization; to join one, send `invite_code`";
  const issues = [{ path: "body.organization", message }];
  throw new Fault("VALIDATION_FAILED", `\`organization\` ${message}.`, { issues });
}

/** Makes an organization with its owner, and signs the owner in. The first organization is the host. */
async function foundOrganization(
  work: Stepping,
  input: NewAccount & { readonly organization: string },
) {
  const { app } = work;
  // Looked at before the hash, which is dear, and again after it: somebody else may have been first.
  await admitSignUp(work, app.store, input);
  const password = await hashPassword(input.password, app.ports);
  const made = await app.store.transact(async (tx) => {
    const host = await admitSignUp(work, tx, input);
    const now = app.ports.clock.now();
    const organization = tx.insert(organizations, SYSTEM, {
      id: app.ports.entropy.id("org"),
      name: input.organization,
      plan: app.config().default_plan,
      active: true,
      host,
      created_at_ms: now,
      require_second_factor: false,
      limits: null,
    });
    await subscribe(app.ports, tx, organization.id, organization.plan);
    insertShield(tx, organization.id);
    insertVerdictKeys(app, tx, organization.id);
    insertAuditKeys(app, tx, organization.id);
    const tenant = homeOf(organization.id);
    const whose = { email: input.email, password, roles: ["owner"], created_with: null };
    const user = await insertUser(app, tx, tenant, whose, "Sign in instead.");
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
    return { organization, user, session: await openSession(work, tx, tenant, user, false) };
  });
  return await signedIn(app, made.organization, made.user, made.session);
}

/**
 * Whether a signup that may pass now makes the host: the first one does.
 * @throws {Fault} FORBIDDEN
 */
async function admitSignUp(
  { app, request }: Pick<Stepping, "app" | "request">,
  db: Reader,
  input: NewAccount,
): Promise<boolean> {
  const { local, signup } = app.settings;
  const first = await db.find(organizations, SYSTEM, "host", ["host"]) === null;
  if (first) {
    if (local && !request.forwarded) return true;
    if (constantTimeEqual(input.claim_code ?? "", claimCodeOf(app))) return true;
    throw new Fault(
      "FORBIDDEN",
      local
        ? "This request came through a proxy, so that strangers may reach this server, and the first " +
          "signup needs `claim_code`. Set RELAY_PUBLIC_URL: Relay prints the code when it starts."
        : "The first signup needs `claim_code`: Relay prints it when it starts.",
    );
  }
  if (signup === "open") return false;
  throw new Fault(
    "FORBIDDEN",
    signup === "closed"
      ? "This server takes no new organizations."
      : "This server takes new people by invitation only: ask for an `invite_code`.",
  );
}

/** What the first signup must send: the same on every instance and at every start. */
export const claimCodeOf = ({ sealer }: App): string =>
  `claim_${encodeBase62(sealer.mac("claim code").subarray(0, CLAIM_CODE_BYTES))}`;

/** What a sign-in sends. */
export interface Login {
  readonly email: string;
  readonly password: string;
  /** Of the second factor. */
  readonly code?: string | undefined;
}

/**
 * Signs a user in. Unknown users and wrong passwords get the same answer in the same time; who has a second
 * factor is told so only after the right password.
 * @throws {Fault} INVALID_LOGIN, RATE_LIMIT_EXCEEDED
 */
export async function logIn(work: Stepping, input: Login) {
  const { app } = work;
  const whose = `${networkOf(work.request.address)} ${input.email}`;
  const found = await app.logins.trying(whose, () => byPassword(work, input));
  const organization = await app.store.get(organizations, SYSTEM, found.tenant.org);
  if (!found.record.active || !organization?.active) {
    throw new Fault("INVALID_LOGIN", "The user or the organization is not active.");
  }
  const password = needsRehash(found.record.password, app.ports)
    ? await hashPassword(input.password, app.ports)
    : found.record.password;
  const { user, session } = await enter(work, found, password, input.code);
  return await signedIn(app, organization, user, session);
}

/** The user of this email and this password. @throws {Fault} INVALID_LOGIN */
async function byPassword(work: Stepping, { email, password }: Login): Promise<Found<UserRecord>> {
  const { store, ports } = work.app;
  const found = await store.lookup(users, "email", [email]);
  const good = await verifyPassword(password, found?.record.password ?? null, ports);
  if (found !== null && good) return found;
  // Not waited for: an unknown user has nothing to record, and must not be told by a faster answer.
  if (found !== null) recordFailure(work, found, "password");
  throw new Fault("INVALID_LOGIN");
}

/** Takes the second factor and begins the session, unless the user has changed meanwhile. */
async function enter(
  work: Stepping,
  found: Found<UserRecord>,
  password: string,
  code: string | undefined,
) {
  const { app } = work;
  const { tenant, record: { id } } = found;
  const entering = () =>
    app.store.transact(async (tx) => {
      const now = await tx.get(users, tenant, id);
      if (!now?.active || now.password !== found.record.password) throw new Fault("INVALID_LOGIN");
      const user = password === now.password ? now : tx.put(users, tenant, { ...now, password });
      const shown = await takeSecondFactor(app, tx, tenant.org, id, code);
      const by = { ...work, actor: { id } };
      const resource = { type: "user", id } as const;
      if (shown === "recovery_code") {
        const details = { email: user.email, address: work.request.address };
        emit(by, tx, tenant, { type: "recovery_code_used", resource, details });
      }
      emit(by, tx, tenant, {
        type: "user_login",
        resource,
        details: { email: user.email, address: work.request.address, second_factor: shown },
      });
      return { user, session: await openSession(work, tx, tenant, user, shown !== "none") };
    });
  try {
    if (code === undefined) return await entering();
    return await app.logins.trying(factorTries(id), entering);
  } catch (error) {
    if (error instanceof Fault && error.details.reason === "second_factor_wrong") {
      recordFailure(work, found, "second_factor");
    }
    throw error;
  }
}

function recordFailure(
  work: Stepping,
  { tenant, record: user }: Found<UserRecord>,
  wrong: "password" | "second_factor",
): void {
  work.app.store.transact((tx) =>
    emit({ ...work, actor: { id: user.id } }, tx, tenant, {
      type: "user_login_failed",
      resource: { type: "user", id: user.id },
      details: { email: user.email, address: work.request.address, wrong },
    })
  ).catch((error) => {
    work.app.ports.log.error("a failed sign-in could not be recorded", { error: String(error) });
  });
}

/** Who the caller is and what it may do. */
export async function accountInfo({ db, actor }: Work) {
  const user = await db.get(users, homeOf(actor.tenant.org), actor.userId);
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
