import * as oauth from "oauth4webapi";
import type { OauthProvider } from "../../../kv/records/integration.ts";
import type { App } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { OutboundError, type OutboundResponse } from "../../ports/ports.ts";
import { sha256Hex } from "../../codec/text.ts";
import type { OauthClient } from "../service.ts";

const DEADLINE_MS = 10_000;
/** More than any metadata or answer with tokens has. */
const ANSWER_BYTES_MAX = 128 * 1024;
/** Longer headers are left out: the library reads a challenge in time that grows with its square. */
const HEADER_CHARS_MAX = 1024;
/** Statuses that have no body, which a Response insists on. */
const BODILESS = [204, 205, 304];

/** Kinds of token that are sent as a Bearer's is. */
const TOKEN_TYPES = { bot: () => {} }; // Slack's

/** Longer addresses of a provider are not kept. */
const ADDRESS_CHARS_MAX = 2048;
/** What the tokens of one integration may weigh as a form: so they are revoked, and that is sealed. */
const TOKEN_BYTES_MAX = 16 * 1024;
/** RFC 6749, appendix A. */
const TOKEN = /^[\x20-\x7e]*$/;
/** Metadata name no longer algorithms. */
const ALGORITHM_CHARS_MAX = 16;

/** How ID tokens may be signed at a provider that does not say it. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "Ed25519", "EdDSA"];
const ALGORITHMS_MAX = 32;

/** The library's way out: it wants the platform's Response, whatever brought the answer. */
const optionsOf = (app: App, organization: string) => ({
  [oauth.customFetch]: async (
    url: string,
    { method, headers, body }: {
      method: string;
      headers: Record<string, string>;
      body?: URLSearchParams | string | null | undefined;
    },
  ) => {
    const answer = await app.ports.outbound.request({
      organization,
      method,
      url,
      headers: {
        ...headers,
        ...(body instanceof URLSearchParams &&
          { "content-type": "application/x-www-form-urlencoded;charset=UTF-8" }),
      },
      ...(body && { body: body.toString() }),
      deadlineMs: DEADLINE_MS,
      keepBytes: ANSWER_BYTES_MAX,
    });
    if (answer.truncated) throw new OutboundError("http", "The provider's answer is incomplete.");
    const status = statusOf(answer);
    if (status < 200 || status > 599) {
      throw new OutboundError("http", `The provider's answer has the status ${status}.`);
    }
    const said = BODILESS.includes(status) ? null : answer.bytes;
    const read = Object.entries(answer.headers).filter(([, value]) =>
      value.length <= HEADER_CHARS_MAX
    );
    return new Response(said, { status, headers: read });
  },
  [oauth.allowInsecureRequests]: app.config().outbound.allow_private_targets,
});

/** GitHub and Slack refuse with 200; whoever reads the answer expects the 400 of RFC 6749, section 5.2. */
function statusOf({ status, body }: OutboundResponse): number {
  if (status !== 200 || !body.startsWith("{")) return status;
  try {
    return typeof JSON.parse(body).error === "string" ? 400 : status;
  } catch {
    return status;
  }
}

/**
 * Where the provider takes what: as configured, or as its metadata say.
 * @throws {Fault} UNAVAILABLE when it does not answer, CONFLICT when its answer is of no use
 */
export async function discover(
  app: App,
  organization: string,
  client: OauthClient,
): Promise<OauthProvider> {
  const { issuer, endpoints } = client;
  if (endpoints !== null) {
    return {
      issuer,
      authorization_endpoint: endpoints.authorization,
      token_endpoint: endpoints.token,
      id_token_signing_alg_values_supported: ALGORITHMS,
      ...(endpoints.revocation && { revocation_endpoint: endpoints.revocation }),
    };
  }
  const found = await metadataOf(app, organization, new URL(issuer)).catch(refuse);
  const { authorization_endpoint, token_endpoint, revocation_endpoint } = found;
  if (authorization_endpoint === undefined || token_endpoint === undefined) {
    throw new Fault("CONFLICT", "The provider's metadata name no endpoints for this flow.");
  }
  const named = [authorization_endpoint, token_endpoint, revocation_endpoint ?? token_endpoint];
  const schemes = app.config().outbound.allow_private_targets ? /^https?:$/ : /^https:$/;
  const fits = (text: string) =>
    text.length <= ADDRESS_CHARS_MAX && schemes.test(URL.parse(text)?.protocol ?? "");
  if (!named.every(fits)) {
    throw new Fault("CONFLICT", "The provider's metadata name endpoints that are of no use.");
  }
  const iss = found.authorization_response_iss_parameter_supported;
  return {
    issuer: found.issuer,
    authorization_endpoint,
    token_endpoint,
    id_token_signing_alg_values_supported:
      (found.id_token_signing_alg_values_supported ?? ALGORITHMS)
        .filter((name) => name.length <= ALGORITHM_CHARS_MAX).slice(0, ALGORITHMS_MAX),
    ...(revocation_endpoint !== undefined && { revocation_endpoint }),
    ...(iss !== undefined && { authorization_response_iss_parameter_supported: iss }),
  };
}

/** By OpenID Connect, or else by RFC 8414. */
async function metadataOf(
  app: App,
  organization: string,
  issuer: URL,
): Promise<oauth.AuthorizationServer> {
  const ask = async (algorithm: "oidc" | "oauth2") => {
    const options = { algorithm, ...optionsOf(app, organization) };
    const answer = await oauth.discoveryRequest(issuer, options);
    return await oauth.processDiscoveryResponse(issuer, answer);
  };
  try {
    return await ask("oidc");
  } catch (error) {
    if (error instanceof OutboundError) throw error;
    return await ask("oauth2");
  }
}

/** Where the browser goes. */
export async function authorizationUrl(
  { authorization_endpoint }: OauthProvider,
  { clientId, scopes, parameters }: OauthClient,
  { state, verifier, redirectUri }: { state: string; verifier: string; redirectUri: string },
): Promise<string> {
  const url = new URL(authorization_endpoint);
  const query = {
    ...parameters,
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

/**
 * Checks what the provider sent back, `iss` included, and exchanges the code for tokens.
 * @throws {Fault} FORBIDDEN when consent was denied, CONFLICT when the provider or the check refuses,
 * UNAVAILABLE when it does not answer
 */
export async function exchangeCode(
  app: App,
  organization: string,
  provider: OauthProvider,
  client: OauthClient,
  { answer, state, verifier, redirectUri }: {
    readonly answer: URLSearchParams;
    readonly state: string;
    readonly verifier: string;
    readonly redirectUri: string;
  },
): Promise<oauth.TokenEndpointResponse> {
  const known = { client_id: client.clientId };
  try {
    const checked = oauth.validateAuthResponse(provider, known, answer, state);
    const response = await oauth.authorizationCodeGrantRequest(
      provider,
      known,
      authenticationOf(client),
      checked,
      redirectUri,
      verifier,
      optionsOf(app, organization),
    );
    const types = { recognizedTokenTypes: TOKEN_TYPES };
    const brought = await oauth.processAuthorizationCodeResponse(provider, known, response, types);
    return bounded(brought);
  } catch (error) {
    return refuse(error);
  }
}

/** Digest of the account that the ID token of an answer names; null when there is none. */
export function accountOf(answer: oauth.TokenEndpointResponse): string | null {
  const claims = oauth.getValidatedIdTokenClaims(answer);
  return claims === undefined ? null : sha256Hex(claims.sub);
}

/** New tokens for a refresh token. @throws what `describeTrouble` describes */
export async function requestRefresh(
  app: App,
  organization: string,
  provider: OauthProvider,
  client: OauthClient,
  refreshToken: string,
): Promise<oauth.TokenEndpointResponse> {
  const known = { client_id: client.clientId };
  const response = await oauth.refreshTokenGrantRequest(
    provider,
    known,
    authenticationOf(client),
    refreshToken,
    optionsOf(app, organization),
  );
  const types = { recognizedTokenTypes: TOKEN_TYPES };
  return bounded(await oauth.processRefreshTokenResponse(provider, known, response, types));
}

/** What would not fit into a record is no answer. */
function bounded(answer: oauth.TokenEndpointResponse): oauth.TokenEndpointResponse {
  const { access_token, refresh_token = "", scope = "" } = answer;
  if (!TOKEN.test(access_token) || !TOKEN.test(refresh_token)) {
    throw new oauth.OperationProcessingError("a token with characters that are not visible ASCII");
  }
  const form = new URLSearchParams({ access_token, refresh_token, scope }).toString();
  if (form.length <= TOKEN_BYTES_MAX) return answer;
  throw new oauth.OperationProcessingError(`tokens of more than ${TOKEN_BYTES_MAX} bytes`);
}

function authenticationOf({ clientSecret, authentication }: OauthClient): oauth.ClientAuth {
  if (clientSecret === null) return oauth.None();
  return authentication === "client_secret_basic"
    ? oauth.ClientSecretBasic(clientSecret)
    : oauth.ClientSecretPost(clientSecret);
}

/** What a refresh token that works no more is called: by RFC 6749, by GitHub and by Slack. */
const SPENT = ["invalid_grant", "bad_refresh_token", "invalid_refresh_token"];

/** True when the provider says that a refresh token works no more. */
export const isSpent = (error: unknown): boolean =>
  error instanceof oauth.ResponseBodyError && SPENT.includes(error.error);

/** What went wrong between here and the provider, in a sentence; null for what is a bug. */
export function describeTrouble(error: unknown): string | null {
  if (error instanceof OutboundError) return `The provider cannot be reached: ${error.message}`;
  if (error instanceof oauth.AuthorizationResponseError) {
    return `The provider refused: ${spoken(error.error)}.`;
  }
  if (error instanceof oauth.ResponseBodyError) {
    return `The provider did not accept the request: ${spoken(error.error)}.`;
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    return "The provider does not accept the client's id and secret.";
  }
  if (
    error instanceof oauth.OperationProcessingError ||
    error instanceof oauth.UnsupportedOperationError
  ) {
    return `The provider's answer is not acceptable: ${spoken(error.message)}.`;
  }
  return null;
}

const SPOKEN_MAX = 200;
/** A word of the provider's, as far as it may stand in a sentence. */
const spoken = (text: string): string => text.slice(0, SPOKEN_MAX).replaceAll(/[^\x20-\x7e]/g, "?");

/** @throws {Fault} in the caller's words */
function refuse(error: unknown): never {
  const trouble = describeTrouble(error);
  if (trouble === null) throw error;
  if (error instanceof OutboundError) throw new Fault("UNAVAILABLE", `${trouble} Begin again.`);
  const said = error instanceof oauth.AuthorizationResponseError ||
      error instanceof oauth.ResponseBodyError
    ? { error: spoken(error.error) }
    : {};
  const denied = error instanceof oauth.AuthorizationResponseError;
  throw new Fault(denied ? "FORBIDDEN" : "CONFLICT", `${trouble} Begin again.`, said);
}
