import * as oauth from "oauth4webapi";
import { isWithin } from "../../../kv/store/clock.ts";
import { Fault } from "../../fault/fault.ts";
import { type ForeignToken, idsOf, type RequestInfo } from "../../identity/identity.ts";
import { fetchBy, OutboundError, type Ports } from "../../ports/ports.ts";

type Issuer = ForeignToken["issuer"];
/** The request that a line of the log names. */
type Asking = Pick<RequestInfo, "id" | "trace">;

/** An issuer where browsers sign in. */
export type SignInIssuer = Issuer & { readonly client_id: string };

/** What a browser carries to the issuer and back, and the relay compares. */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE (RFC 7636). */
  readonly verifier: string;
}

/** Metadata is fetched again after this. */
const FRESH_MS = 10 * 60 * 1000;
const DEADLINE_MS = 5_000;
const ANSWER_BYTES_MAX = 128 * 1024;
/** The library has the time of the system only. The ID token's verification uses the relay's clock. */
const TIMES_ARE_CHECKED_LATER = { [oauth.clockTolerance]: Number.MAX_SAFE_INTEGER };
const CALLBACK = "/api/v1/console-session/oidc/callback";

/** The issuers where browsers sign in by OpenID Connect. Their metadata is remembered for a while. */
export class Providers {
  readonly #known = new Map<string, {
    readonly atMs: number;
    readonly metadata: Promise<oauth.AuthorizationServer>;
  }>();

  constructor(
    private readonly parts: {
      readonly ports: Pick<Ports, "clock" | "outbound" | "log">;
      readonly config: () => {
        readonly auth: { readonly issuers: readonly Issuer[] };
        readonly outbound: { readonly allow_private_targets: boolean };
      };
      /** The origin under which browsers reach the relay. */
      readonly origin: string;
      /** Client secrets by client id. */
      readonly secrets: ReadonlyMap<string, string>;
    },
  ) {}

  /** The configured issuers that have a client for browsers. */
  all(): SignInIssuer[] {
    return this.parts.config().auth.issuers.filter((each): each is SignInIssuer =>
      each.client_id !== undefined
    );
  }

  /** One of them. @throws {Fault} NOT_FOUND */
  named(issuer: string): SignInIssuer {
    const found = this.all().find((each) => each.issuer === issuer);
    if (found !== undefined) return found;
    throw new Fault("NOT_FOUND", "Browsers do not sign in at this issuer: it has no `client_id`.");
  }

  /** The address of the issuer's page, for a browser that signs in. @throws {Fault} as `exchange` */
  async authorizationUrl(
    issuer: SignInIssuer,
    { state, nonce, verifier }: Flow,
    request: Asking,
  ): Promise<string> {
    try {
      const { authorization_endpoint = "" } = await this.#metadataOf(issuer);
      const url = URL.parse(authorization_endpoint);
      const { allow_private_targets } = this.parts.config().outbound;
      const isUsable = url?.protocol === "https:" ||
        url?.protocol === "http:" && allow_private_targets;
      if (url === null || !isUsable) throw new UnusableMetadata("authorization");
      const query = {
        client_id: issuer.client_id,
        redirect_uri: this.#redirectUri,
        response_type: "code",
        scope: "openid email",
        state,
        nonce,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      };
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      return url.href;
    } catch (error) {
      throw this.#failure(issuer, error, request);
    }
  }

  /**
   * Exchanges the code of the issuer's answer for an ID token with the flow's nonce. Its signature and times are not
   * checked yet.
   * @throws {Fault} FORBIDDEN when the person or the issuer refused, CONFLICT for a wrong answer, UNAVAILABLE; each
   * with `details.reason`
   */
  async exchange(
    issuer: SignInIssuer,
    answer: URLSearchParams,
    flow: Flow,
    request: Asking,
  ): Promise<string> {
    const { client_id } = issuer;
    const client = { client_id, ...TIMES_ARE_CHECKED_LATER };
    try {
      const provider = await this.#metadataOf(issuer);
      const checked = oauth.validateAuthResponse(provider, client, answer, flow.state);
      const response = await oauth.authorizationCodeGrantRequest(
        provider,
        client,
        authenticationOf(provider, this.parts.secrets.get(client_id)),
        checked,
        this.#redirectUri,
        flow.verifier,
        this.#options(),
      );
      const options = { expectedNonce: flow.nonce, requireIdToken: true };
      const { id_token } = await oauth.processAuthorizationCodeResponse(
        provider,
        client,
        response,
        options,
      );
      return id_token!;
    } catch (error) {
      throw this.#failure(issuer, error, request);
    }
  }

  get #redirectUri(): string {
    return `${this.parts.origin}${CALLBACK}`;
  }

  /** The issuer's metadata. Simultaneous sign-ins cause one request, and a failure is not remembered. */
  #metadataOf({ issuer }: SignInIssuer): Promise<oauth.AuthorizationServer> {
    const now = this.parts.ports.clock.now();
    const known = this.#known.get(issuer);
    if (known !== undefined && isWithin(known.atMs, FRESH_MS, now)) return known.metadata;
    const metadata = this.#discover(new URL(issuer));
    this.#known.set(issuer, { atMs: now, metadata });
    metadata.catch(() => this.#known.delete(issuer));
    return metadata;
  }

  async #discover(issuer: URL): Promise<oauth.AuthorizationServer> {
    const response = await oauth.discoveryRequest(issuer, this.#options());
    return await oauth.processDiscoveryResponse(issuer, response);
  }

  #options() {
    const { ports, config } = this.parts;
    const bounds = { deadlineMs: DEADLINE_MS, keepBytes: ANSWER_BYTES_MAX };
    return {
      [oauth.customFetch]: fetchBy(ports.outbound, { organization: null, ...bounds }),
      [oauth.allowInsecureRequests]: config().outbound.allow_private_targets,
    };
  }

  /** The fault for an error of the exchange, which the log describes; any other error as it is. */
  #failure({ issuer }: SignInIssuer, error: unknown, request: Asking): unknown {
    const isOutbound = error instanceof OutboundError;
    if (!isOutbound && !OAUTH_ERRORS.some((kind) => error instanceof kind)) return error;
    const fields = { ...idsOf(request), issuer, error: describe(error as Error) };
    this.parts.ports.log.warn("a browser could not sign in at an issuer", fields);
    if (isOutbound) {
      const message = "The issuer cannot be reached now. Try again later.";
      return new Fault("UNAVAILABLE", message, { reason: "unreachable" });
    }
    if (error instanceof oauth.AuthorizationResponseError) {
      return new Fault("FORBIDDEN", "The issuer did not sign you in.", { reason: "denied" });
    }
    const message = "The issuer's answer is not accepted. The relay's log says why.";
    return new Fault("CONFLICT", message, { reason: "refused" });
  }
}

class UnusableMetadata extends Error {
  constructor(what: string) {
    super(`its metadata has no usable ${what} endpoint`);
  }
}

const OAUTH_ERRORS = [
  oauth.AuthorizationResponseError,
  oauth.ResponseBodyError,
  oauth.WWWAuthenticateChallengeError,
  oauth.OperationProcessingError,
  oauth.UnsupportedOperationError,
  UnusableMetadata,
];

const DESCRIBED_MAX = 200;
/** An error with the issuer's code for it, limited to printable ASCII. */
const describe = (error: Error & { readonly error?: unknown }): string =>
  `${error.message} ${typeof error.error === "string" ? error.error : ""}`.trim()
    .slice(0, DESCRIBED_MAX).replaceAll(/[^\x20-\x7e]/g, "?");

/**
 * In the form where the issuer takes it, because not every issuer decodes the encoding of Basic; Basic where it says
 * nothing (OpenID Connect Discovery, section 3).
 */
function authenticationOf(
  { token_endpoint_auth_methods_supported: methods }: oauth.AuthorizationServer,
  secret: string | undefined,
): oauth.ClientAuth {
  if (secret === undefined) return oauth.None();
  return methods?.includes("client_secret_post")
    ? oauth.ClientSecretPost(secret)
    : oauth.ClientSecretBasic(secret);
}
