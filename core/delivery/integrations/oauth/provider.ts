import { hash } from "node:crypto";
import * as oauth from "oauth4webapi";
import type { OauthProvider } from "../../../../kv/records/integration.ts";
import type { Context } from "../../../context/context.ts";
import { Fault } from "../../../fault/fault.ts";
import { fetchBy, OutboundError, type OutboundResponse } from "../../../ports/ports.ts";
import type { OauthClient } from "../service.ts";

const DEADLINE_MS = 10_000;
/** Exceeds the size of any metadata or token response. */
const ANSWER_BYTES_MAX = 128 * 1024;

/** Further token types that are sent like Bearer tokens. */
const TOKEN_TYPES = { bot: () => {} }; // Slack's

/** Longer endpoint URLs are rejected. */
const ADDRESS_CHARS_MAX = 2048;
/** The largest form with the tokens of one integration. A revocation stores that form. */
const TOKEN_BYTES_MAX = 16 * 1024;
/** RFC 6749, appendix A. */
const TOKEN = /^[\x20-\x7e]*$/;
/** Longer algorithm names are dropped. */
const ALGORITHM_CHARS_MAX = 16;

/** The ID token algorithms of a provider that states none. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "Ed25519", "EdDSA"];
const ALGORITHMS_MAX = 32;

/** The library has the time of the system only. `mustBeInTime` uses the relay's clock. */
const TIMES_ARE_CHECKED_LATER = { [oauth.clockTolerance]: Number.MAX_SAFE_INTEGER };
/** How far a provider's clock may be from the relay's. */
const CLOCK_TOLERANCE_SECONDS = 30;

/** The parts of the relay that the exchange with a provider uses. */
type ProviderContext = Pick<Context, "config"> & {
  readonly ports: Pick<Context["ports"], "clock" | "outbound">;
};

/** The options that make the library send by the outbound port. */
const optionsOf = ({ ports, config }: ProviderContext, organization: string) => ({
  [oauth.customFetch]: fetchBy(ports.outbound, {
    organization,
    deadlineMs: DEADLINE_MS,
    keepBytes: ANSWER_BYTES_MAX,
    statusOf,
  }),
  [oauth.allowInsecureRequests]: config().outbound.allow_private_targets,
});

/** GitHub and Slack report errors with 200. The library expects the 400 of RFC 6749, section 5.2. */
function statusOf({ status, body }: OutboundResponse): number {
  if (status !== 200 || !body.startsWith("{")) return status;
  try {
    return typeof JSON.parse(body).error === "string" ? 400 : status;
  } catch {
    return status;
  }
}

/**
 * The provider's endpoints, as configured or from its metadata.
 * @throws {Fault} UNAVAILABLE when it does not answer, CONFLICT when its answer is unusable
 */
export async function discover(
  context: ProviderContext,
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
  const found = await metadataOf(context, organization, new URL(issuer)).catch(refuse);
  const { authorization_endpoint, token_endpoint, revocation_endpoint } = found;
  if (authorization_endpoint === undefined || token_endpoint === undefined) {
    throw new Fault("CONFLICT", "The provider's metadata has no endpoints for this flow.");
  }
  const named = [authorization_endpoint, token_endpoint, revocation_endpoint ?? token_endpoint];
  const schemes = context.config().outbound.allow_private_targets ? /^https?:$/ : /^https:$/;
  const fits = (text: string) =>
    text.length <= ADDRESS_CHARS_MAX && schemes.test(URL.parse(text)?.protocol ?? "");
  if (!named.every(fits)) {
    throw new Fault("CONFLICT", "The provider's metadata names unusable endpoints.");
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

/** Fetches metadata by OpenID Connect, or else by RFC 8414. */
async function metadataOf(
  context: ProviderContext,
  organization: string,
  issuer: URL,
): Promise<oauth.AuthorizationServer> {
  const ask = async (algorithm: "oidc" | "oauth2") => {
    const options = { algorithm, ...optionsOf(context, organization) };
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

/** The URL to which the browser goes. */
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
 * Checks the provider's callback, `iss` included, and exchanges the code for tokens.
 * @throws {Fault} FORBIDDEN when consent was denied, CONFLICT when the provider or the check refuses,
 * UNAVAILABLE when it does not answer
 */
export async function exchangeCode(
  context: ProviderContext,
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
  const known = { client_id: client.clientId, ...TIMES_ARE_CHECKED_LATER };
  try {
    const checked = oauth.validateAuthResponse(provider, known, answer, state);
    const response = await oauth.authorizationCodeGrantRequest(
      provider,
      known,
      authenticationOf(client),
      checked,
      redirectUri,
      verifier,
      optionsOf(context, organization),
    );
    const types = { recognizedTokenTypes: TOKEN_TYPES };
    const brought = await oauth.processAuthorizationCodeResponse(provider, known, response, types);
    return bounded(mustBeInTime(context, brought));
  } catch (error) {
    return refuse(error);
  }
}

/** A digest of the account that the response's ID token names; null without one. */
export function accountOf(answer: oauth.TokenEndpointResponse): string | null {
  const claims = oauth.getValidatedIdTokenClaims(answer);
  return claims === undefined ? null : hash("sha256", claims.sub);
}

/** New tokens for a refresh token. @throws what `describeTrouble` describes */
export async function requestRefresh(
  context: ProviderContext,
  organization: string,
  provider: OauthProvider,
  client: OauthClient,
  refreshToken: string,
): Promise<oauth.TokenEndpointResponse> {
  const known = { client_id: client.clientId, ...TIMES_ARE_CHECKED_LATER };
  const response = await oauth.refreshTokenGrantRequest(
    provider,
    known,
    authenticationOf(client),
    refreshToken,
    optionsOf(context, organization),
  );
  const types = { recognizedTokenTypes: TOKEN_TYPES };
  const brought = await oauth.processRefreshTokenResponse(provider, known, response, types);
  return bounded(mustBeInTime(context, brought));
}

/** Rejects an ID token that is not valid now. */
function mustBeInTime(
  { ports }: ProviderContext,
  answer: oauth.TokenEndpointResponse,
): oauth.TokenEndpointResponse {
  const claims = oauth.getValidatedIdTokenClaims(answer);
  if (claims === undefined) return answer;
  const now = ports.clock.now() / 1000;
  const { exp, nbf } = claims as typeof claims & { readonly nbf?: number };
  const isInTime = now < exp + CLOCK_TOLERANCE_SECONDS &&
    (nbf === undefined || nbf <= now + CLOCK_TOLERANCE_SECONDS);
  if (isInTime) return answer;
  throw new oauth.OperationProcessingError("an ID token that has expired or is not valid yet");
}

/** Rejects tokens that do not fit into a record. */
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

/** The errors for a refresh token that no longer works: of RFC 6749, GitHub and Slack. */
const SPENT = ["invalid_grant", "bad_refresh_token", "invalid_refresh_token"];

/** True when the provider states that a refresh token no longer works. */
export const isSpent = (error: unknown): boolean =>
  error instanceof oauth.ResponseBodyError && SPENT.includes(error.error);

/** A failure of the exchange with the provider as a sentence; null for any other error. */
export function describeTrouble(error: unknown): string | null {
  if (error instanceof OutboundError) return `The provider cannot be reached: ${error.message}`;
  if (error instanceof oauth.AuthorizationResponseError) {
    return `The provider refused: ${printable(error.error)}.`;
  }
  if (error instanceof oauth.ResponseBodyError) {
    return `The provider did not accept the request: ${printable(error.error)}.`;
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    return "The provider does not accept the client's id and secret.";
  }
  if (
    error instanceof oauth.OperationProcessingError ||
    error instanceof oauth.UnsupportedOperationError
  ) {
    return `The provider's response is invalid: ${printable(error.message)}.`;
  }
  return null;
}

const PRINTABLE_MAX = 200;
/** Text from the provider, limited to printable ASCII. */
const printable = (text: string): string =>
  text.slice(0, PRINTABLE_MAX).replaceAll(/[^\x20-\x7e]/g, "?");

/** @throws {Fault} for a failure of the exchange; rethrows any other error */
function refuse(error: unknown): never {
  const trouble = describeTrouble(error);
  if (trouble === null) throw error;
  if (error instanceof OutboundError) throw new Fault("UNAVAILABLE", `${trouble} Begin again.`);
  const details = error instanceof oauth.AuthorizationResponseError ||
      error instanceof oauth.ResponseBodyError
    ? { error: printable(error.error) }
    : {};
  const denied = error instanceof oauth.AuthorizationResponseError;
  throw new Fault(denied ? "FORBIDDEN" : "CONFLICT", `${trouble} Begin again.`, details);
}
