import { z } from "zod";
import {
  accountInfo,
  logIn,
  refreshSession,
  renameOrganization,
  signUp,
  usePasswordReset,
} from "../core/access/access.ts";
import { route } from "./call/route.ts";
import {
  Email,
  KnownEmail,
  Name,
  NewPassword,
  ScopeName,
  Space,
  Timestamp,
} from "./schemas/schemas.ts";

/** A session with its tokens. */
export const SignedIn = z.object({
  token: z.string(),
  token_type: z.literal("Bearer"),
  expires_at: Timestamp.meta({ description: "When the token expires." }),
  refresh_token: z.string().meta({
    description:
      "Exchange it once for a new token, at POST /api/v1/token/refresh. Keep it as safe as a " +
      "password.",
  }),
  refresh_expires_at: Timestamp.meta({
    description: "When the session ends unless it is refreshed.",
  }),
  user: z.object({ id: z.string(), email: z.string(), role: z.string() }),
  organization: z.object({ id: z.string(), name: z.string() }),
  second_factor: z.literal("setup_required").optional().meta({
    description:
      "Present when the organization requires a second factor and the user has none: until one " +
      "is set up, the token has no rights.",
  }),
}).meta({ id: "SignedIn" });

/** What a person signs in with. */
export const LoginBody = z.strictObject({
  email: KnownEmail,
  password: z.string().min(1).max(1024),
  code: z.string().min(1).max(64).optional()
    .meta({ description: "A code from the authenticator, or a recovery code." }),
}).meta({ id: "Login" });

/** What a person signs up with. */
export const SignUpBody = z.strictObject({
  email: Email,
  password: NewPassword,
  organization: Name.optional().meta({
    description: "The organization's name; not needed to join one.",
  }),
  claim_code: z.string().max(128).optional(),
  invite_code: z.string().min(1).max(128).optional()
    .meta({ description: "Joins the inviting organization instead of creating one." }),
}).meta({ id: "SignUp" });
export const SIGN_UP_RULES = {
  "body.invite_code": "must belong to an open invitation",
  "body.claim_code": "must be the code that the server printed",
  "body.organization": "is required unless an invitation is given",
} as const;

const Organization = z.object({
  id: z.string(),
  name: z.string(),
  plan: z.string(),
  host: z.boolean(),
  created_at: Timestamp,
}).meta({ id: "Organization" });

const AccountInfo = z.object({
  user: z.object({
    id: z.string(),
    email: z.string(),
    roles: z.array(z.string()),
    created_at: Timestamp,
  }),
  organization: Organization,
  credential: z.object({ type: z.enum(["jwt", "api_key"]), id: z.string() }),
  scopes: z.array(ScopeName),
  space: Space,
}).meta({ id: "AccountInfo" });

const Jwks = z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).meta({ id: "Jwks" });

export const accountRoutes = [
  route({
    id: "account.signup",
    method: "POST",
    path: "/api/v1/signup",
    summary: "Sign up a user",
    description: "Creates an organization and its first user, or joins an organization with an " +
      "`invite_code`, and signs in. The first organization runs the installation. Its signup " +
      "needs the claim code that Relay prints when it starts, unless the server is bound to " +
      "loopback. RELAY_SIGNUP governs the other signups: `open` allows everyone, `invite` " +
      "requires an `invite_code`, `closed` allows none.",
    access: { public: "nobody has an account before this" },
    noStore: true,
    effect: "steps",
    audit: { byRule: "organization_created, user_created" },
    body: SignUpBody,
    rules: SIGN_UP_RULES,
    success: { status: 201, body: SignedIn },
    faults: ["FORBIDDEN", "CONFLICT", "GONE"],
    handle: (work, { body }, { signIn }) => signUp(work, signIn, body),
  }),
  route({
    id: "account.login",
    method: "POST",
    path: "/api/v1/login",
    summary: "Sign in and get a JWT",
    access: { public: "this endpoint issues credentials" },
    noStore: true,
    effect: "steps",
    audit: { byRule: "user_login, user_login_failed" },
    description:
      "Users with a second factor also send its `code`. Without it the response is 401 with the " +
      "`details.reason` second_factor_required.",
    body: LoginBody,
    success: { status: 200, body: SignedIn },
    faults: ["INVALID_LOGIN"],
    handle: (work, { body }, { signIn, background }) =>
      logIn(work, { ...signIn, background }, body),
  }),
  route({
    id: "account.refresh",
    method: "POST",
    path: "/api/v1/token/refresh",
    summary: "Refresh a session",
    description:
      "Returns a new JWT and the next refresh token. Each refresh token works once. For 30 " +
      "seconds after its use the same token returns the same successor, so a lost response " +
      "does not end the session. A later use ends the session and notifies the user. The " +
      "`details.reason` of the 401 is malformed, ended, inactive or reused.",
    access: { public: "the refresh token is the credential" },
    noStore: true,
    effect: "steps",
    audit: { byRule: "session_refreshed, refresh_token_reused" },
    body: z.strictObject({ refresh_token: z.string().min(1).max(512) }),
    success: { status: 200, body: SignedIn },
    faults: ["INVALID_TOKEN"],
    handle: (work, { body }, { signIn }) => refreshSession(work, signIn, body.refresh_token),
  }),
  route({
    id: "account.reset_password",
    method: "POST",
    path: "/api/v1/password-reset",
    summary: "Set a new password with a link's token",
    description:
      "An administrator creates the token with POST /api/v1/users/{id}/password-reset. All " +
      "sessions of the user end; the second factor stays. A token that does not work any more, " +
      "or never did, gets 410.",
    access: { public: "the token is the credential" },
    noStore: true,
    effect: "steps",
    audit: { byRule: "password_reset_used" },
    body: z.strictObject({ token: z.string().min(1).max(128), password: NewPassword }),
    success: { status: 200, body: z.object({ email: z.string(), sessions_ended: z.int() }) },
    faults: ["GONE"],
    handle: (work, { body }, { signIn }) => usePasswordReset(work, signIn, body),
  }),
  route({
    id: "account.info",
    method: "GET",
    path: "/api/account/info",
    summary: "Get the current account, credential and rights",
    access: { signedIn: true },
    effect: "read",
    success: { status: 200, body: AccountInfo },
    faults: ["NOT_FOUND"],
    tool: { name: "get_account", destructive: false },
    handle: (work) => accountInfo(work),
  }),
  route({
    id: "account.rename_organization",
    method: "PATCH",
    path: "/api/account/organization",
    summary: "Rename the organization",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: { byRule: "organization_renamed, when it changes something" },
    body: z.strictObject({ name: Name }),
    success: { status: 200, body: Organization },
    faults: ["NOT_FOUND"],
    handle: (work, { body }) => renameOrganization(work, body.name),
  }),
  route({
    id: "account.jwks",
    method: "GET",
    path: "/.well-known/jwks.json",
    summary: "Get the public keys that verify JWTs",
    description: "A JSON Web Key Set (RFC 7517) of Ed25519 keys.",
    access: { public: "the keys are public" },
    effect: "read",
    success: { status: 200, body: Jwks },
    faults: [],
    handle: async (_work, _input, { signingKeys }) => ({
      keys: (await signingKeys.published()).map((key) => ({ ...key.publicJwk })),
    }),
  }),
];
