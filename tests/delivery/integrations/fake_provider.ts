import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { createHash } from "node:crypto";
import { OutboundError, type OutboundRequest } from "../../../core/ports/ports.ts";
import type { ManualClock } from "../../support/clock.ts";
import type { Reply } from "../../support/network.ts";

interface Grant {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly scope: string;
}

/**
 * A provider that follows OAuth 2 and OpenID Connect: codes work once and only with their verifier, refresh
 * tokens rotate, and a reused one ends its whole family.
 */
export class FakeProvider {
  readonly issuer = "https://login.example.com";
  readonly clientId = "relay";
  readonly clientSecret = "a:secret/of+the%client";
  /** The life of an access token in seconds; null for endless tokens. */
  lifeSeconds: number | null = 3600;
  /** False when refresh tokens do not rotate. */
  rotates = true;
  /** False when a consent returns no refresh token, as with providers that return one only the first time. */
  givesRefresh = true;
  /** The account that consents; null without an ID token. */
  subject: string | null = "alice";
  /** True when the provider does not respond. */
  down = false;
  /** The `aud` of ID tokens; another client's id makes them invalid. */
  audience = this.clientId;
  /** How long an ID token is valid. */
  idTokenSeconds = 300;
  /** Overrides of its metadata. */
  metadata: Readonly<Record<string, unknown>> = {};
  /** A response of the token endpoint that replaces the regular one. */
  tokenReply: Reply | null = null;
  refreshes = 0;
  readonly revoked: string[] = [];
  readonly #codes = new Map<string, Grant>();
  readonly #fresh = new Set<string>();
  readonly #spent = new Set<string>();
  #n = 0;

  private constructor(
    private readonly clock: ManualClock,
    private readonly key: CryptoKey,
    private readonly jwk: JWK,
  ) {}

  static async open(clock: ManualClock): Promise<FakeProvider> {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const jwk = { ...await exportJWK(publicKey), kid: "1", alg: "ES256" };
    return new FakeProvider(clock, privateKey, jwk);
  }

  /** The configuration of an integration with this provider. */
  get config() {
    const { issuer, clientId: client_id, clientSecret: client_secret } = this;
    return { issuer, client_id, client_secret, scopes: ["openid", "offline_access"] };
  }

  /** The callback parameters after consent. */
  consent(authorizeUrl: string): URLSearchParams {
    const asked = new URL(authorizeUrl).searchParams;
    const wrong = [
      ["response_type", "code"],
      ["code_challenge_method", "S256"],
      ["client_id", this.clientId],
    ].filter(([name, value]) => asked.get(name!) !== value);
    if (wrong.length > 0) throw new Error(`the request has a wrong ${wrong[0]![0]}`);
    const code = `code-${++this.#n}`;
    this.#codes.set(code, {
      challenge: asked.get("code_challenge")!,
      redirectUri: asked.get("redirect_uri")!,
      scope: asked.get("scope") ?? "",
    });
    return new URLSearchParams({ code, state: asked.get("state")!, iss: this.issuer });
  }

  /** The callback parameters after refusal. */
  denial(authorizeUrl: string): URLSearchParams {
    const state = new URL(authorizeUrl).searchParams.get("state")!;
    return new URLSearchParams({ error: "access_denied", state, iss: this.issuer });
  }

  /** Revokes every refresh token. */
  forget(): void {
    for (const token of this.#fresh) this.#spent.add(token);
    this.#fresh.clear();
  }

  /** The valid refresh tokens. */
  get alive(): string[] {
    return [...this.#fresh];
  }

  /** Responds to requests from the network. */
  readonly reply = async (request: OutboundRequest): Promise<Reply> => {
    if (!request.url.startsWith(this.issuer)) return 204;
    if (this.down) return new OutboundError("connect", "connection refused");
    const { pathname } = new URL(request.url);
    if (pathname === "/.well-known/openid-configuration") return json(200, this.#metadata());
    const form = new URLSearchParams(String(request.body));
    if (!this.#knows(request)) return json(401, { error: "invalid_client" });
    if (pathname === "/revoke") {
      this.revoked.push(form.get("token_type_hint")!);
      this.#fresh.delete(form.get("token")!);
      return 200;
    }
    if (pathname !== "/token") return 404;
    if (this.tokenReply !== null) return this.tokenReply;
    return form.get("grant_type") === "refresh_token"
      ? this.#refresh(form)
      : await this.#code(form);
  };

  #metadata() {
    const at = (path: string) => `${this.issuer}${path}`;
    return {
      issuer: this.issuer,
      authorization_endpoint: at("/authorize"),
      token_endpoint: at("/token"),
      revocation_endpoint: at("/revoke"),
      jwks_uri: at("/jwks"),
      authorization_response_iss_parameter_supported: true,
      id_token_signing_alg_values_supported: ["ES256"],
      response_types_supported: ["code"],
      keys: [this.jwk],
      ...this.metadata,
    };
  }

  #knows({ headers }: OutboundRequest): boolean {
    const encoded = (text: string) => new URLSearchParams([["", text]]).toString().slice(1);
    const pair = `${encoded(this.clientId)}:${encoded(this.clientSecret)}`;
    return headers["authorization"] === `Basic ${btoa(pair)}`;
  }

  async #code(form: URLSearchParams): Promise<Reply> {
    const code = form.get("code") ?? "";
    const grant = this.#codes.get(code);
    this.#codes.delete(code);
    const verifier = form.get("code_verifier") ?? "";
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    const right = grant?.challenge === challenge &&
      grant.redirectUri === form.get("redirect_uri");
    if (!right) return json(400, { error: "invalid_grant" });
    return json(200, {
      ...this.#tokens(),
      ...(!this.givesRefresh && { refresh_token: undefined }),
      ...(this.subject !== null && { id_token: await this.#idToken(this.subject) }),
      scope: grant.scope,
    });
  }

  #idToken(subject: string): Promise<string> {
    const now = Math.floor(this.clock.nowMs / 1000);
    return new SignJWT({}).setProtectedHeader({ alg: "ES256", kid: "1" })
      .setIssuer(this.issuer).setAudience(this.audience).setSubject(subject)
      .setIssuedAt(now).setExpirationTime(now + this.idTokenSeconds).sign(this.key);
  }

  #refresh(form: URLSearchParams): Reply {
    const token = form.get("refresh_token") ?? "";
    this.refreshes++;
    if (this.#spent.has(token)) this.forget(); // somebody has a copy
    if (!this.#fresh.has(token)) return json(400, { error: "invalid_grant" });
    if (!this.rotates) return json(200, { ...this.#tokens(), refresh_token: undefined });
    this.#fresh.delete(token);
    this.#spent.add(token);
    return json(200, this.#tokens());
  }

  #tokens() {
    const n = ++this.#n;
    const refresh_token = `refresh-${n}`;
    this.#fresh.add(refresh_token);
    return {
      access_token: `access-${n}`,
      token_type: "Bearer",
      ...(this.lifeSeconds !== null && { expires_in: this.lifeSeconds }),
      refresh_token,
    };
  }
}

/** A JSON response. */
export const json = (status: number, value: unknown): Reply => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(value),
});
