import { SYSTEM, type Tenant } from "../kv/collection.ts";
import { RecentMap } from "../kv/recent.ts";
import { type ApiKeyRecord, apiKeys } from "../kv/records/api_key.ts";
import { type OrganizationRecord, organizations } from "../kv/records/organization.ts";
import { sessions, type UserRecord, users } from "../kv/records/user.ts";
import type { Actor, App } from "./app.ts";
import { Fault } from "./fault.ts";
import { hashKeyValue, parseKeyValue } from "./key_value.ts";
import { rightsOf, type Scope } from "./scopes.ts";
import { type Claims, verifyToken } from "./tokens.ts";

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
  planLimits: null,
  key: null,
};

/** What a key's actor was made of. */
interface Known {
  readonly tenant: Tenant;
  readonly key: ApiKeyRecord;
  readonly user: UserRecord;
  readonly organization: OrganizationRecord;
  readonly actor: Actor;
}

/**
 * The actors of key values that were used lately, by app. One is good while the very records that it was
 * made of are the ones in the store's memory: any change of one replaces it there.
 */
const knownKeys = new WeakMap<App, RecentMap<Known>>();
const KNOWN_MAX = 20_000;

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
  if (credential.startsWith("svc_")) return await authenticateKey(app, credential);
  return await authenticateToken(app, credential, space);
}

async function authenticateKey(app: App, value: string): Promise<Actor> {
  let known = knownKeys.get(app);
  if (known === undefined) knownKeys.set(app, known = new RecentMap(KNOWN_MAX));
  const fresh = current(app, known.get(value));
  const found = fresh ?? await lookUpKey(app, value);
  if (fresh === null) known.set(value, found);
  return found.actor;
}

/** The holder of an API key that was used lately, at once; null when it must be looked up. */
export function knownHolder(app: App, credential: string): Actor | null {
  return current(app, knownKeys.get(app)?.get(credential))?.actor ?? null;
}

/** What is known of a value, if nothing of it has changed. */
function current(app: App, known: Known | undefined): Known | null {
  if (known === undefined) return null;
  const { tenant, key, user, organization } = known;
  const good = app.store.peek(apiKeys, tenant, key.id) === key &&
    app.store.peek(users, { org: tenant.org, space: "live" }, user.id) === user &&
    app.store.peek(organizations, SYSTEM, tenant.org) === organization &&
    app.ports.clock.now() < key.expires_at_ms;
  return good ? known : null;
}

/** The order of the interface: format, status, expiry; scopes are the route's to check. */
async function lookUpKey(app: App, value: string): Promise<Known> {
  if (parseKeyValue(value) === null) throw keyFault("malformed", "It has a typo or was cut.");
  const found = await app.store.lookup(apiKeys, "hash", [hashKeyValue(value)]);
  if (found === null) throw keyFault("unknown", "It does not exist, or was deleted.");
  return await know(app, found.tenant, found.record);
}

/** Who holds the key of this id, with the rights of now; null when it is not accepted any more. */
export async function keyHolder(app: App, tenant: Tenant, id: string): Promise<Actor | null> {
  const key = await app.store.get(apiKeys, tenant, id);
  if (key === null) return null;
  try {
    return (await know(app, tenant, key)).actor;
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

/** @throws {Fault} INVALID_API_KEY */
async function know(app: App, tenant: Tenant, key: ApiKeyRecord): Promise<Known> {
  if (key.revoked_at_ms !== null) throw keyFault("revoked", "It was revoked. Create another.");
  if (app.ports.clock.now() >= key.expires_at_ms) {
    throw keyFault("expired", "It has expired. Create another.");
  }
  const user = await app.store.get(users, { org: tenant.org, space: "live" }, key.created_by);
  const organization = await app.store.get(organizations, SYSTEM, tenant.org);
  if (!user?.active || !organization?.active) {
    throw keyFault("inactive", "Its creator or its organization is not active.");
  }
  const actor = keyActor(key, tenant, user, organization);
  return { tenant, key, user, organization, actor };
}

function keyActor(
  key: ApiKeyRecord,
  tenant: Tenant,
  user: UserRecord,
  organization: OrganizationRecord,
): Actor {
  const creator = rightsOf(user.roles, organization.host);
  return {
    kind: "api_key",
    id: key.id,
    tenant,
    rights: new Set((key.scopes as Scope[]).filter((scope) => creator.has(scope))),
    userId: user.id,
    plan: organization.plan,
    host: organization.host,
    sessionId: null,
    planLimits: organization.limits,
    key: { type: key.type, limits: key.limits, oldUntilMs: null },
  };
}

async function authenticateToken(
  app: App,
  token: string,
  space: Tenant["space"],
): Promise<Actor> {
  const { sub, org, sid } = await verify(app, token);
  const tenant: Tenant = { org, space: "live" };
  const session = await app.store.get(sessions, tenant, sid);
  if (session === null || session.user_id !== sub) {
    throw tokenFault("ended", "Its session has ended.");
  }
  const user = await app.store.get(users, tenant, sub);
  const organization = await app.store.get(organizations, SYSTEM, org);
  if (!user?.active || !organization?.active) {
    throw tokenFault("inactive", "The user or the organization is not active.");
  }
  return {
    kind: "user",
    id: user.id,
    tenant: { org, space },
    rights: rightsOf(user.roles, organization.host),
    userId: user.id,
    plan: organization.plan,
    host: organization.host,
    sessionId: sid,
    planLimits: organization.limits,
    key: null,
  };
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

const keyFault = (reason: string, why: string) =>
  new Fault("INVALID_API_KEY", `The API key is not accepted. ${why}`, { reason });
const tokenFault = (reason: string, why: string) =>
  new Fault("INVALID_TOKEN", `The JWT is not accepted. ${why}`, { reason });
