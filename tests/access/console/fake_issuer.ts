import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { OutboundRequest } from "../../../core/ports/ports.ts";
import type { ManualClock } from "../../support/clock.ts";
import type { Reply } from "../../support/network.ts";

export const ISSUER = "https://login.example/realms/ops";
export const CLIENT = "relay-console";
const SECRET = "a client's secret: with +, % and é";
/** The variable that gives a relay the client's secret. */
export const SECRETS = { RELAY_ISSUER_SECRETS: JSON.stringify({ [CLIENT]: SECRET }) };

const { privateKey, publicKey } = await generateKeyPair("ES256");
const stranger = await generateKeyPair("ES256");
const JWK = { ...await exportJWK(publicKey), kid: "k1", alg: "ES256", use: "sig" };

interface Grant {
  readonly query: URLSearchParams;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** An OpenID provider as strict as a real one: codes work once, with the client's secret, address and verifier. */
export class FakeIssuer {
  /** Changes to its metadata, its ID tokens, and the key and header that they are signed with. */
  metadata: Readonly<Record<string, unknown>> = {};
  claims: Readonly<Record<string, unknown>> = {};
  signedBy: "itself" | "a stranger" | "nobody" = "itself";
  /** True for one that accepts a code again. */
  lax = false;
  readonly idTokens: string[] = [];
  readonly #grants = new Map<string, Grant>();

  constructor(private readonly clock: ManualClock) {}

  /** The person signs in; the answer that their browser brings back. */
  consent(address: string, claims: Readonly<Record<string, unknown>>): URLSearchParams {
    const { searchParams: query } = new URL(address);
    const code = `code-${this.#grants.size + 1}`;
    this.#grants.set(code, { query, claims });
    return new URLSearchParams({ code, state: query.get("state")!, iss: ISSUER });
  }

  readonly reply = async ({ url, method, headers, body }: OutboundRequest): Promise<Reply> => {
    if (method === "GET" && url === `${ISSUER}/.well-known/openid-configuration`) {
      return json({
        issuer: ISSUER,
        authorization_endpoint: `${ISSUER}/auth?tenant=1`,
        token_endpoint: `${ISSUER}/token`,
        jwks_uri: `${ISSUER}/keys`,
        id_token_signing_alg_values_supported: ["ES256"],
        authorization_response_iss_parameter_supported: true,
        ...this.metadata,
      });
    }
    if (method === "GET" && url === `${ISSUER}/keys`) return json({ keys: [JWK] });
    if (method !== "POST" || url !== `${ISSUER}/token`) return 404;
    const form = new URLSearchParams(String(body));
    const code = form.get("code")!;
    const grant = this.#grants.get(code);
    if (!isClient(headers.authorization, form)) return json({ error: "invalid_client" }, 401);
    const challenge = hash("sha256", form.get("code_verifier") ?? "", "base64url");
    const fits = grant?.query.get("code_challenge") === challenge &&
      grant.query.get("code_challenge_method") === "S256" &&
      grant.query.get("redirect_uri") === form.get("redirect_uri") &&
      form.get("grant_type") === "authorization_code";
    if (!fits) return json({ error: "invalid_grant" }, 400);
    if (!this.lax) this.#grants.delete(code);
    const id_token = await this.#sign(grant);
    this.idTokens.push(id_token);
    return json({ access_token: "opaque", token_type: "Bearer", id_token });
  };

  async #sign({ query, claims }: Grant): Promise<string> {
    const now = Math.floor(this.clock.nowMs / 1000);
    const payload = {
      iss: ISSUER,
      aud: CLIENT,
      sub: "subject-1",
      nonce: query.get("nonce"),
      iat: now,
      exp: now + 300,
      ...claims,
      ...this.claims,
    };
    if (this.signedBy === "nobody") {
      const [head, middle] = [{ alg: "none" }, payload].map((part) =>
        Buffer.from(JSON.stringify(part)).toString("base64url")
      );
      return `${head}.${middle}.`;
    }
    const key = this.signedBy === "itself" ? privateKey : stranger.privateKey;
    return await new SignJWT(payload).setProtectedHeader({ alg: "ES256", kid: "k1" }).sign(key);
  }
}

/** True for the client's id and secret, by Basic or in the form. */
function isClient(authorization: string | undefined, form: URLSearchParams): boolean {
  const sent = authorization === undefined
    ? [form.get("client_id"), form.get("client_secret")]
    : Buffer.from(authorization.replace("Basic ", ""), "base64").toString().split(":")
      .map((part) => decodeURIComponent(part.replaceAll("+", " ")));
  return sent[0] === CLIENT && sent[1] === SECRET;
}

const json = (value: unknown, status = 200): Reply => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(value),
  bytes: new TextEncoder().encode(JSON.stringify(value)),
});
