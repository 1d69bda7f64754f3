import { mcpGrants } from "../../../kv/records/user.ts";
import type { Clock } from "../../../kv/store/clock.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import type { Store } from "../../../kv/store/store.ts";
import { Fault } from "../../fault/fault.ts";
import type { Actor } from "../../identity/identity.ts";
import { homeOf } from "../roles/grant.ts";
import { type GrantCredential, isDerived, parseGrantCredential } from "../sign_in/refresh_token.ts";
import { type SignsIn, userNow } from "../user_now.ts";

const VERIFIED_MAX = 5_000;

const REFUSALS = {
  malformed: "Relay did not issue it, or it is incomplete.",
  expired: "It has expired. Refresh it.",
  audience: "It is for another address: only the MCP address that it was asked for accepts it.",
  ended: "This client was ended, or its person changed their password. Ask for consent again.",
  inactive: "The user or the organization is not active.",
} as const;
type Refusal = keyof typeof REFUSALS;

/**
 * The holders of MCP clients' access tokens. A token's MAC is checked once and remembered; its grant and its person are
 * compared with the store each time.
 */
export class GrantHolders {
  readonly #verified = new RecentMap<GrantCredential>(VERIFIED_MAX);

  constructor(
    private readonly parts: {
      readonly store: Pick<Store, "ahead">;
      readonly ports: { readonly clock: Pick<Clock, "now"> };
      readonly sealer: Parameters<typeof isDerived>[0];
      readonly config: () => { readonly auth: { readonly mcp_clients: boolean } };
    },
    private readonly signsIn: SignsIn,
  ) {}

  /** The person of an access token, with those of their rights that they consented to. @throws {Fault} INVALID_TOKEN */
  async authenticate(text: string, resource: string | null): Promise<Actor> {
    const token = this.#verified.get(text) ?? parseGrantCredential(text);
    if (token?.kind !== "access") throw refusal("malformed");
    const { ports, store } = this.parts;
    if (ports.clock.now() >= token.number) throw refusal("expired");
    const label = `grant ${token.org} ${token.grantId}`;
    const actor = await store.ahead.run(label, (db) => this.#holder(db, token, resource));
    if (typeof actor === "string") throw refusal(actor);
    return { ...actor, expiresAtMs: Math.min(token.number, actor.expiresAtMs) };
  }

  /** The same actor with current rights; null when its grant has ended. */
  async current({ tenant, grantId, expiresAtMs }: Actor & { grantId: string }) {
    const label = `grant ${tenant.org} ${grantId}`;
    const actor = await this.parts.store.ahead.run(
      label,
      (db) => this.#read(db, tenant.org, grantId),
    );
    return typeof actor === "string" ? null : { ...actor.actor, expiresAtMs };
  }

  async #holder(
    db: Reader,
    token: GrantCredential,
    resource: string | null,
  ): Promise<Actor | Refusal> {
    const found = await this.#read(db, token.org, token.grantId);
    if (typeof found === "string") return found;
    const { actor, grant } = found;
    if (this.#verified.get(token.text) === undefined) {
      if (!isDerived(this.parts.sealer, grant, token.text)) return "malformed";
      this.#verified.set(token.text, token);
    }
    return grant.resource === resource ? actor : "audience";
  }

  async #read(db: Reader, org: string, grantId: string) {
    const grant = await db.get(mcpGrants, homeOf(org), grantId);
    if (grant === null || !this.parts.config().auth.mcp_clients) return "ended";
    const tenant: Tenant = { org, space: grant.space };
    const user = await userNow(db, tenant, grant.user_id, grant, this.signsIn);
    if (typeof user === "string") return user;
    const consented = new Set<string>(grant.scopes);
    const rights = new Set([...user.rights].filter((right) => consented.has(right)));
    const actor: Actor = { ...user, rights, grantId, expiresAtMs: grant.expires_at_ms };
    return { actor, grant };
  }
}

const refusal = (reason: Refusal) =>
  new Fault("INVALID_TOKEN", `The access token is not accepted. ${REFUSALS[reason]}`, { reason });
