import { SYSTEM, type Tenant } from "../../kv/store/collection.ts";
import { RecentMap } from "../../kv/store/recent.ts";
import { organizations } from "../../kv/records/organization.ts";
import { plans } from "../../kv/records/plan.ts";
import { sessions, users } from "../../kv/records/user.ts";
import { authenticateKey, keyHolder } from "./keys/holder.ts";
import type { Actor, App, ForeignToken } from "../work/work.ts";
import { Fault } from "../fault/fault.ts";
import { isConfigured, issuerNamed, personOf, readForeignToken } from "./issuers/tokens.ts";
import { rightsOf } from "./roles/rights.ts";
import type { Scope } from "../work/scopes.ts";
import { type Claims, verifyToken } from "./tokens/tokens.ts";

/** How the credential of a device begins. */
export const DEVICE_PREFIX = "svc_device_";

/** Who asks when nobody says who. */
export const ANONYMOUS: Actor = {
  kind: "anonymous",
  id: "anonymous",
  tenant: SYSTEM,
  rights: new Set(),
  userId: "anonymous",
  plan: "",
  host: false,
  sessionId: null,
  expiresAtMs: Infinity,
  planPerMinute: undefined,
  planLimits: null,
  key: null,
};

/**
 * Finds out who holds a credential, with the rights they have now.
 * @throws {Fault} MISSING_CREDENTIALS, INVALID_API_KEY, INVALID_TOKEN
 */
export async function authenticate(
  app: App,
  credential: string | null,
  space: Tenant["space"],
): Promise<Actor> {
  if (credential === null) {
    throw new Fault(
      "MISSING_CREDENTIALS",
      "Send `Authorization: Bearer <JWT or API key>` or `x-api-key: <API key>`.",
    );
  }
  if (credential.startsWith(DEVICE_PREFIX)) {
    const message = "A device's credential opens its own link and reports its agent's health, " +
      "nothing else. Use an API key.";
    throw new Fault("INVALID_API_KEY", message, { reason: "device" });
  }
  if (credential.startsWith("svc_")) return await authenticateKey(app, credential);
  return await authenticateToken(app, credential, space);
}

async function authenticateToken(
  app: App,
  token: string,
  space: Tenant["space"],
): Promise<Actor> {
  const issuer = issuerNamed(app, token);
  if (issuer !== null && issuer.issuer !== issuerOf(app)) {
    const actor = await foreignActor(app, await readForeignToken(app, issuer, token), space);
    if (typeof actor === "string") throw tokenFault(actor, ENDS[actor]);
    return actor;
  }
  const { sub, org, sid, exp } = await verify(app, token);
  const actor = await userActor(app, { org, space }, { userId: sub, sessionId: sid });
  if (typeof actor === "string") throw tokenFault(actor, ENDS[actor]);
  return { ...actor, expiresAtMs: exp * 1000 };
}

const ENDS = {
  ended: "Its session has ended.",
  inactive: "The user or the organization is not active.",
} as const;

/** The person of another issuer's token with the rights of now, as far as the token carries them. */
async function foreignActor(
  app: App,
  foreign: ForeignToken,
  space: Tenant["space"],
): Promise<Actor | keyof typeof ENDS> {
  const { org, userId } = await personOf(app, foreign);
  const actor = await userActor(app, { org, space }, { userId, sessionId: null });
  if (typeof actor === "string") return actor;
  const { scopes, expiresAtMs } = foreign;
  const rights = scopes === null
    ? actor.rights
    : new Set([...actor.rights].filter((right) => scopes.has(right)));
  return { ...actor, rights, expiresAtMs, foreign, ...(scopes?.size === 0 && { bare: true }) };
}

/** A person, by a session or without one, with the rights of now, or why there is none. */
async function userActor(
  app: App,
  { org, space }: Tenant,
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string | null },
): Promise<Actor | keyof typeof ENDS> {
  const tenant: Tenant = { org, space: "live" };
  const session = sessionId === null ? null : await app.store.get(sessions, tenant, sessionId);
  if (sessionId !== null && session?.user_id !== userId) return "ended";
  const user = await app.store.get(users, tenant, userId);
  const organization = await app.store.get(organizations, SYSTEM, org);
  if (!user?.active || !organization?.active) return "inactive";
  if (session !== null && session.epoch !== user.session_epoch) return "ended";
  // Whoever must have a second factor and has shown none may only set one up; for another issuer's
  // token that is the issuer's affair.
  const bare = organization.require_second_factor && session?.second_factor === false;
  return {
    kind: "user",
    id: user.id,
    tenant: { org, space },
    rights: bare ? new Set() : await rightsOf(app.store, organization, user.roles),
    ...(bare && { bare }),
    userId: user.id,
    plan: organization.plan,
    host: organization.host,
    sessionId,
    expiresAtMs: session?.expires_at_ms ?? Infinity,
    planPerMinute: (await app.store.get(plans, SYSTEM, organization.plan))?.requests_per_minute,
    planLimits: organization.limits,
    key: null,
  };
}

/** An actor with the rights of now; null when its credential is not accepted any more. */
export async function currentActor(app: App, actor: Actor): Promise<Actor | null> {
  if (app.ports.clock.now() >= actor.expiresAtMs) return null;
  if (actor.kind === "api_key") {
    return await keyHolder(app, actor.tenant, actor.id, actor.key?.valueHash ?? "");
  }
  if (actor.foreign !== undefined) return await currentForeign(app, actor.foreign, actor.tenant);
  if (actor.sessionId === null) return null;
  const { tenant, userId, sessionId, expiresAtMs } = actor;
  const current = await userActor(app, tenant, { userId, sessionId });
  return typeof current === "string" ? null : { ...current, expiresAtMs };
}

/**
 * That a caller still has one of these rights, after what took as long as somebody outside wanted.
 * @throws {Fault} INSUFFICIENT_SCOPES
 */
export async function mustStillHave(
  { app, actor }: { readonly app: App; readonly actor: Actor },
  required: readonly Scope[],
): Promise<void> {
  const { rights } = await currentActor(app, actor) ?? ANONYMOUS;
  if (required.some((right) => rights.has(right))) return;
  const message = `This needs ${required.join(" or ")}, which you lost while it was under way.`;
  throw new Fault("INSUFFICIENT_SCOPES", message, { required, granted: [...rights] });
}

/** Null also when the issuer is not configured as it was: its token has to be checked again. */
async function currentForeign(
  app: App,
  foreign: ForeignToken,
  { space }: Tenant,
): Promise<Actor | null> {
  if (!isConfigured(app, foreign.issuer)) return null;
  try {
    const current = await foreignActor(app, foreign, space);
    return typeof current === "string" ? null : current;
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

/** Tokens that were verified lately: a signature is checked once, what may change each time. */
const verifiedTokens = new WeakMap<App, RecentMap<Claims>>();
const VERIFIED_MAX = 5_000;

async function verify(app: App, token: string): Promise<Claims> {
  const nowMs = app.ports.clock.now();
  let verified = verifiedTokens.get(app);
  if (verified === undefined) verifiedTokens.set(app, verified = new RecentMap(VERIFIED_MAX));
  const known = verified.get(token);
  if (known !== undefined && nowMs < known.exp * 1000) return known;
  const options = { issuer: issuerOf(app), nowMs };
  const claims = await verifyToken(await app.signingKeys.published(), token, options)
    .catch(async (error) => {
      if (!(error instanceof Fault) || error.details.reason !== "unknown_key") throw error;
      app.signingKeys.refresh();
      return await verifyToken(await app.signingKeys.published(), token, options);
    });
  verified.set(token, claims);
  return claims;
}

/** Who Relay's JWTs say they are from. */
export const issuerOf = (app: App): string => app.settings.publicUrl ?? "relay";

const tokenFault = (reason: string, why: string) =>
  new Fault("INVALID_TOKEN", `The JWT is not accepted. ${why}`, { reason });
