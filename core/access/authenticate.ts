import { SYSTEM, type Tenant } from "../../kv/store/collection.ts";
import type { Reader } from "../../kv/store/reader.ts";
import { sessions } from "../../kv/records/user.ts";
import { KeyHolders } from "./keys/holder.ts";
import type { Actor, ForeignToken, Scope } from "../identity/identity.ts";
import type { Context } from "../context/context.ts";
import { Fault } from "../fault/fault.ts";
import { ForeignTokens } from "./issuers/tokens.ts";
import { GrantHolders } from "./mcp_clients/holder.ts";
import { homeOf } from "./roles/grant.ts";
import { ACCESS_TOKEN_PREFIX } from "./sign_in/refresh_token.ts";
import type { Tokens } from "./tokens/tokens.ts";
import { type Refusal, REFUSALS, type SignsIn, userNow } from "./user_now.ts";

/** How the credential of a device begins. */
export const DEVICE_PREFIX = "svc_device_";

/** The actor of a request without a credential. */
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

/** Whose rights a token carries, and the session that it belongs to, if any. */
interface Person {
  readonly userId: string;
  readonly sessionId: string | null;
}

/**
 * Finds the holder of a credential, with current rights. Keys and tokens that were checked lately are
 * remembered in memory; whatever may change about them is compared with the store each time.
 */
export class Authenticator {
  readonly #keys: KeyHolders;
  readonly #foreign: ForeignTokens;
  readonly #grants: GrantHolders;

  constructor(
    private readonly parts: Pick<Context, "store" | "ports" | "config" | "sealer"> & {
      readonly tokens: Pick<Tokens, "issuer" | "verify">;
    },
  ) {
    this.#keys = new KeyHolders(parts);
    this.#foreign = new ForeignTokens(parts);
    this.#grants = new GrantHolders(parts, this.#signsIn);
  }

  /**
   * `resource` is the path of an MCP address; the access tokens of MCP clients count nowhere else.
   * @throws {Fault} MISSING_CREDENTIALS, INVALID_API_KEY, INVALID_TOKEN
   */
  async authenticate(
    credential: string | null,
    space: Tenant["space"],
    resource: string | null = null,
  ): Promise<Actor> {
    if (credential === null) {
      throw new Fault(
        "MISSING_CREDENTIALS",
        "Send `Authorization: Bearer <JWT or API key>` or `x-api-key: <API key>`.",
      );
    }
    if (credential.startsWith(DEVICE_PREFIX)) {
      const message =
        "A device's credential only opens its own link and reports its agent's health. Use an " +
        "API key.";
      throw new Fault("INVALID_API_KEY", message, { reason: "device" });
    }
    if (credential.startsWith("svc_")) return await this.#keys.authenticate(credential);
    if (credential.startsWith(ACCESS_TOKEN_PREFIX)) {
      return await this.#grants.authenticate(credential, resource);
    }
    return await this.#byToken(credential, space);
  }

  /**
   * The user of an ID token, by which a browser signs in.
   * @throws {Fault} INVALID_TOKEN, UNAVAILABLE
   */
  async userOfIdToken(issuer: ForeignToken["issuer"], clientId: string, text: string) {
    return await this.#foreign.userOf(await this.#foreign.readIdToken(issuer, clientId, text));
  }

  /** The holder of a key value that was used lately, without waiting; null when it must be looked up. */
  knownHolder(value: string): Actor | null {
    return this.#keys.known(value);
  }

  /** Forgets the key values that were not used since the last call. */
  forgetUnusedKeys(): void {
    this.#keys.forgetUnused();
  }

  /** The holder of the key value with this hash now; null when it is no longer accepted. */
  keyHolder(tenant: Tenant, id: string, valueHash: string): Promise<Actor | null> {
    return this.#keys.current(tenant, id, valueHash);
  }

  /** The same actor with current rights; null when its credential is no longer accepted. */
  async current(actor: Actor): Promise<Actor | null> {
    if (this.parts.ports.clock.now() >= actor.expiresAtMs) return null;
    if (actor.kind === "api_key") {
      return await this.#keys.current(actor.tenant, actor.id, actor.key?.valueHash ?? "");
    }
    if (actor.foreign !== undefined) {
      return await this.#currentForeign(actor.foreign, actor.tenant);
    }
    const { grantId } = actor;
    if (grantId !== undefined) return await this.#grants.current({ ...actor, grantId });
    if (actor.sessionId === null) return null;
    const { tenant, userId, sessionId, expiresAtMs } = actor;
    const current = await this.#user(tenant, { userId, sessionId });
    return typeof current === "string" ? null : { ...current, expiresAtMs };
  }

  /**
   * Refuses a caller who lost all of these rights during a slow request.
   * @throws {Fault} INSUFFICIENT_SCOPES
   */
  async mustStillHave(actor: Actor, required: readonly Scope[]): Promise<void> {
    const { rights } = await this.current(actor) ?? ANONYMOUS;
    if (required.some((right) => rights.has(right))) return;
    const message = `This requires ${required.join(" or ")}, which you lost during the request.`;
    throw new Fault("INSUFFICIENT_SCOPES", message, { required, granted: [...rights] });
  }

  async #byToken(token: string, space: Tenant["space"]): Promise<Actor> {
    const { tokens } = this.parts;
    const issuer = this.#foreign.issuerNamed(token);
    if (issuer !== null && issuer.issuer !== tokens.issuer) {
      const foreign = await this.#foreign.read(issuer, token);
      return mustBeActor(await this.#foreignUser(foreign, space));
    }
    const { sub, org, sid, exp } = await tokens.verify(token);
    const actor = mustBeActor(await this.#user({ org, space }, { userId: sub, sessionId: sid }));
    return { ...actor, expiresAtMs: exp * 1000 };
  }

  /** The person of another issuer's token, with those of their rights that the token names. */
  async #foreignUser(foreign: ForeignToken, space: Tenant["space"]): Promise<Actor | Refusal> {
    const { org, userId } = await this.#foreign.userOf(foreign);
    const actor = await this.#user({ org, space }, { userId, sessionId: null });
    if (typeof actor === "string") return actor;
    const { scopes, expiresAtMs } = foreign;
    const rights = scopes === null
      ? actor.rights
      : new Set([...actor.rights].filter((right) => scopes.has(right)));
    return {
      ...actor,
      rights,
      expiresAtMs,
      foreign,
      ...(scopes?.size === 0 && { withoutRights: true }),
    };
  }

  /** A person, with a session or without, and their current rights. */
  #user(tenant: Tenant, person: Person): Promise<Actor | Refusal> {
    const label = `user ${tenant.org} ${person.userId} ${person.sessionId}`;
    return this.parts.store.ahead.run(label, (db) => readUser(db, tenant, person, this.#signsIn));
  }

  readonly #signsIn: SignsIn = (issuer, { id, host }) =>
    this.parts.config().auth.issuers.some((each) =>
      each.issuer === issuer && each.client_id !== undefined &&
      (each.organization === undefined ? host : each.organization === id)
    );

  /** Null also when the issuer's configuration has changed: then the token must be checked again. */
  async #currentForeign(foreign: ForeignToken, { space }: Tenant): Promise<Actor | null> {
    if (!this.#foreign.isConfigured(foreign.issuer)) return null;
    try {
      const current = await this.#foreignUser(foreign, space);
      return typeof current === "string" ? null : current;
    } catch (error) {
      if (error instanceof Fault) return null;
      throw error;
    }
  }
}

/** @throws {Fault} INVALID_TOKEN */
function mustBeActor(found: Actor | Refusal): Actor {
  if (typeof found !== "string") return found;
  const message = `The JWT is not accepted. ${REFUSALS[found]}`;
  throw new Fault("INVALID_TOKEN", message, { reason: found });
}

/** A person, with a session or without, and their current rights. */
async function readUser(
  db: Reader,
  tenant: Tenant,
  { userId, sessionId }: Person,
  signsIn: SignsIn,
): Promise<Actor | Refusal> {
  if (sessionId === null) return await userNow(db, tenant, userId, null, signsIn);
  const session = await db.get(sessions, homeOf(tenant.org), sessionId);
  if (session?.user_id !== userId) return "ended";
  const actor = await userNow(db, tenant, userId, session, signsIn);
  if (typeof actor === "string") return actor;
  return { ...actor, sessionId, expiresAtMs: session.expires_at_ms };
}
