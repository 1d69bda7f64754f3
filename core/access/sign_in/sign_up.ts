import { SYSTEM } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { insertUser } from "../people/new_user.ts";
import { type Begun, issueTokens, openSession } from "./open_session.ts";
import type { Reading, Stepping } from "../../work/work.ts";
import type { RequestInfo } from "../../identity/identity.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { joinByInvitation } from "../invitations/accept.ts";
import type { SignIn } from "./parts.ts";
import { hashPassword } from "./passwords.ts";
import { homeOf } from "../roles/grant.ts";
import { constantTimeEqual, encodeBase62, type Sealer } from "../../codec/codec.ts";
import type { Reader } from "../../../kv/store/reader.ts";

/** The plan of a new host. No plan limits whoever runs the server. */
const HOST_PLAN = "enterprise";
/** 120 bits cannot be guessed. */
const CLAIM_CODE_BYTES = 15;

export interface NewAccount {
  readonly email: string;
  readonly password: string;
  /** The name of the organization to create. */
  readonly organization?: string | undefined;
  readonly claim_code?: string | undefined;
  /** Joins the organization that issued it, instead of creating one. */
  readonly invite_code?: string | undefined;
}

/**
 * Signs a person up and in.
 * @throws {Fault} as `createAccount`
 */
export async function signUp(work: Stepping, signIn: SignIn, input: NewAccount) {
  const { organization, user, session } = await createAccount(work, signIn, input);
  return await issueTokens(work, signIn.tokens, organization, user, session);
}

/**
 * Creates a person with a session: in the organization that invites them, or with a new one.
 * @throws {Fault} FORBIDDEN, CONFLICT, VALIDATION_FAILED, GONE for an ended invitation
 */
export async function createAccount(
  work: Stepping,
  signIn: Omit<SignIn, "tokens">,
  input: NewAccount,
): Promise<Begun> {
  const { email, password, organization, invite_code } = input;
  if (invite_code !== undefined) {
    return await joinByInvitation(work, signIn, { email, password, invite_code });
  }
  if (organization !== undefined) {
    return await foundOrganization(work, signIn, { ...input, organization });
  }
  const message = "is required to create an organization; to join one, send `invite_code`";
  const issues = [{ path: "body.organization", message }];
  throw new Fault("VALIDATION_FAILED", `\`organization\` ${message}.`, { issues });
}

/** Creates an organization with its owner, and the owner's session. The first organization is the host. */
async function foundOrganization(
  work: Stepping,
  { settings, founders }: Pick<SignIn, "settings" | "founders">,
  input: NewAccount & { readonly organization: string },
): Promise<Begun> {
  const { store, ports, config } = work;
  // Checked before the expensive hash, and again in the transaction: somebody else may be faster.
  await admitSignUp(work, settings, store, input);
  const password = await hashPassword(input.password, ports);
  return await store.transact(async (tx) => {
    const host = await admitSignUp(work, settings, tx, input);
    const organization = tx.insert(organizations, SYSTEM, {
      id: ports.entropy.id("org"),
      name: input.organization,
      plan: host ? HOST_PLAN : config().default_plan,
      active: true,
      host,
      created_at_ms: ports.clock.now(),
      require_second_factor: false,
      limits: null,
    });
    for (const found of founders) await found(tx, organization);
    const tenant = homeOf(organization.id);
    const owner = { email: input.email, password, roles: ["owner"], created_with: null };
    const user = await insertUser(ports, tx, tenant, owner, "Sign in instead.");
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
    return {
      organization,
      user,
      session: await openSession(work, tx, tenant, user, { second_factor: false }),
    };
  });
}

/**
 * Refuses a signup that is not allowed now; true for the first one, which creates the host.
 * @throws {Fault} FORBIDDEN
 */
async function admitSignUp(
  { sealer, request }: { readonly sealer: Sealer } & {
    readonly request: Pick<RequestInfo, "forwarded">;
  },
  { local, signup }: SignIn["settings"],
  db: Reader,
  input: NewAccount,
): Promise<boolean> {
  const first = await db.find(organizations, SYSTEM, "host", ["host"]) === null;
  if (first) {
    if (isUnreachable({ local }, request)) return true;
    if (constantTimeEqual(input.claim_code ?? "", claimCodeOf({ sealer }))) return true;
    throw new Fault(
      "FORBIDDEN",
      local
        ? "The first signup needs `claim_code`, because this request came through a proxy and the " +
          "server may be public. Set RELAY_PUBLIC_URL and restart: Relay then prints the code."
        : "The first signup needs `claim_code`, which Relay prints when it starts.",
    );
  }
  if (signup === "open") return false;
  throw new Fault(
    "FORBIDDEN",
    signup === "closed"
      ? "This server accepts no new organizations."
      : "This server only accepts invited users. Ask for an `invite_code`.",
  );
}

/** How a browser may sign in here, and who may sign up. */
export async function signInOptions(
  { actor, db, request }: Reading,
  { settings: { local, signup }, providers }: Pick<SignIn, "settings" | "providers">,
) {
  const isClaimed = await db.find(organizations, SYSTEM, "host", ["host"]) !== null;
  return {
    signed_in: actor.kind !== "anonymous",
    claimed: isClaimed,
    claim_code: !isClaimed && !isUnreachable({ local }, request),
    sign_up: signup,
    issuers: providers.all().map(({ issuer, name }) => ({
      issuer,
      name: name ?? new URL(issuer).host,
      url: `/api/v1/console-session/oidc/start?issuer=${encodeURIComponent(issuer)}`,
    })),
  };
}

/** True when nobody but people on this machine can have sent a request, so that the first sign-up needs no code. */
const isUnreachable = (
  { local }: Pick<SignIn["settings"], "local">,
  { forwarded }: Pick<RequestInfo, "forwarded">,
): boolean => local && !forwarded;

/** The code that the first signup must send: the same on every instance and at every start. */
export const claimCodeOf = ({ sealer }: { readonly sealer: Sealer }): string =>
  `claim_${encodeBase62(sealer.mac("claim code").subarray(0, CLAIM_CODE_BYTES))}`;
