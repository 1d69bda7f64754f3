import { hash } from "node:crypto";
import { z } from "zod";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { usedIssuerStates, users } from "../../../kv/records/user.ts";
import { SealError } from "../../codec/codec.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import type { Stepping } from "../../work/work.ts";
import { Redirect } from "../../identity/identity.ts";
import type { Cookie } from "../../identity/identity.ts";
import type { Authenticator } from "../authenticate.ts";
import type { Flow, Providers, SignInIssuer } from "../issuers/providers.ts";
import { homeOf } from "../roles/grant.ts";
import { sessionCookie } from "./cookie_session.ts";
import { type Begun, openSession } from "./open_session.ts";

/**
 * Signs a browser in at an issuer by OpenID Connect. All that a flow remembers is sealed in a cookie, which only the
 * flow's state opens, so a flow may begin at one instance and end at another, and strangers store nothing.
 */

const FLOW_MS = 10 * 60 * 1000;
/** 256 bits, for state, nonce and code verifier. */
const SECRET_BYTES = 32;
const COOKIE = "relay-oidc-";
const CONSOLE = "/console";

/** The parameters of the issuer's answer that are read. */
export interface IssuerAnswer {
  readonly state?: string | undefined;
  readonly code?: string | undefined;
  readonly iss?: string | undefined;
  readonly error?: string | undefined;
}

interface Parts {
  readonly providers: Providers;
  readonly authenticator: Pick<Authenticator, "userOfIdToken">;
}

/** Sends the browser to the issuer. @throws {Fault} NOT_FOUND */
export async function beginIssuerSignIn(
  { ports, request, sealer }: Pick<Stepping, "ports" | "request" | "sealer">,
  { providers }: Pick<Parts, "providers">,
  asked: { readonly issuer: string; readonly return_to: string },
): Promise<Redirect> {
  const issuer = providers.named(asked.issuer);
  const secret = () =>
    ports.entropy.bytes(SECRET_BYTES).toBase64({ alphabet: "base64url", omitPadding: true });
  const flow = { state: secret(), nonce: secret(), verifier: secret() };
  return await orFailure(asked.return_to, null, async () => {
    const location = await providers.authorizationUrl(issuer, flow, request);
    const kept = { ...flow, ...asked, expires_at_ms: ports.clock.now() + FLOW_MS };
    const value = sealer.seal(JSON.stringify(kept), contextOf(flow.state));
    const cookie = { name: cookieOf(flow.state), value, maxAgeSeconds: FLOW_MS / 1000 };
    return new Redirect(location, [cookie]);
  });
}

/** Signs the browser in that comes back from the issuer, and sends it to the console with the outcome. */
export async function finishIssuerSignIn(
  work: Stepping,
  { providers, authenticator }: Parts,
  answer: IssuerAnswer,
): Promise<Redirect> {
  const { state = "" } = answer;
  const over = { name: cookieOf(state), value: null, maxAgeSeconds: 0 };
  const flow = openFlow(work, state);
  return await orFailure(flow?.return_to ?? CONSOLE, over, async () => {
    if (flow === null) throw ended();
    const issuer = providers.all().find((each) => each.issuer === flow.issuer);
    if (issuer === undefined) throw ended();
    const sent = Object.entries(answer).filter(([, value]) => value !== undefined);
    const query = new URLSearchParams(sent as [string, string][]);
    const idToken = await providers.exchange(issuer, query, flow, work.request);
    const whose = await authenticator.userOfIdToken(issuer, issuer.client_id, idToken);
    const begun = await enter(work, issuer, flow, whose);
    return new Redirect(flow.return_to, [over], sessionCookie(work, begun));
  });
}

const KeptFlow = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  issuer: z.string(),
  /** The sign-in of an earlier version has none. */
  return_to: z.string().default(CONSOLE),
  expires_at_ms: z.number(),
});

/** The flow of a state, from the browser that began it; null when it is over. */
function openFlow({ ports, sealer, request }: Stepping, state: string) {
  const sealed = request.cookie(cookieOf(state));
  if (sealed === null) return null;
  try {
    const flow = KeptFlow.parse(JSON.parse(sealer.open(sealed, contextOf(state))));
    if (ports.clock.now() < flow.expires_at_ms) return flow;
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
  }
  return null;
}

/** Begins the session; a state begins one at most. */
async function enter(
  work: Stepping,
  { issuer }: SignInIssuer,
  { state, expires_at_ms }: Flow & { readonly expires_at_ms: number },
  { org, userId }: { readonly org: string; readonly userId: string },
): Promise<Begun> {
  const id = hash("sha256", state);
  const tenant = homeOf(org);
  return await work.store.transact(async (tx) => {
    if (await tx.get(usedIssuerStates, SYSTEM, id) !== null) throw ended();
    const organization = await tx.get(organizations, SYSTEM, org);
    const user = await tx.get(users, tenant, userId);
    if (!organization?.active || !user?.active) {
      const message = "The user or the organization is not active.";
      throw new Fault("FORBIDDEN", message, { reason: "inactive" });
    }
    tx.insert(usedIssuerStates, SYSTEM, { id, expires_at_ms });
    emit({ ...work, actor: { id: user.id } }, tx, tenant, {
      type: "user_login",
      resource: { type: "user", id: user.id },
      details: {
        email: user.email,
        address: work.request.address,
        second_factor: "issuer",
        issuer,
      },
    });
    const session = await openSession(work, tx, tenant, user, { second_factor: false, issuer });
    return { organization, user, session };
  });
}

/** Why a sign-in failed, for the console. */
const REASONS = ["denied", "expired", "inactive", "refused", "unknown_user", "unreachable"];

/** Sends the browser back to the console when a sign-in fails, because a person waits there. */
async function orFailure(
  returnTo: string,
  over: Cookie | null,
  go: () => Promise<Redirect>,
): Promise<Redirect> {
  try {
    return await go();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { reason } = error.details;
    const known = REASONS.find((each) => each === reason);
    const shown = known ?? (error.code === "UNAVAILABLE" ? "unreachable" : "refused");
    return new Redirect(`${returnTo}#sign_in_failed=${shown}`, over === null ? [] : [over]);
  }
}

const ended = () =>
  new Fault("GONE", "This sign-in is over, or another browser began it. Begin again.", {
    reason: "expired",
  });

const contextOf = (state: string): string => `sign-in at an issuer ${state}`;
const cookieOf = (state: string): string => COOKIE + hash("sha256", state).slice(0, 16);
