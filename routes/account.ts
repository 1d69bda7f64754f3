import { z } from "zod";
import { accountInfo, logIn, refreshSession, signUp } from "../core/access/access.ts";
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

const SignedIn = z.object({
  token: z.string(),
  token_type: z.literal("Bearer"),
  expires_at: Timestamp.meta({ description: "Of the token." }),
  refresh_token: z.string().meta({
    description: "Gets a new token at POST /api/v1/token/refresh, once. Keep it like a password.",
  }),
  refresh_expires_at: Timestamp.meta({ description: "When the session ends unless refreshed." }),
  user: z.object({ id: z.string(), email: z.string(), role: z.string() }),
  organization: z.object({ id: z.string(), name: z.string() }),
  second_factor: z.literal("setup_required").optional().meta({
    description: "There when the organization requires a second factor and the user has none: " +
      "until one is set up, the token has no rights.",
  }),
}).meta({ id: "SignedIn" });

const AccountInfo = z.object({
  user: z.object({
    id: z.string(),
    email: z.string(),
    roles: z.array(z.string()),
    created_at: Timestamp,
  }),
  organization: z.object({
    id: z.string(),
    name: z.string(),
    plan: z.string(),
    host: z.boolean(),
    created_at: Timestamp,
  }),
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
    summary: "Make an organization and its first user, or join one by invitation, and sign in",
    description: "The first organization runs the installation. Unless the server is bound to " +
      "loopback, that first signup needs the claim code that Relay prints when it starts. " +
      "RELAY_SIGNUP decides about the others: `open` takes anybody, `invite` whoever has an " +
      "`invite_code`, `closed` nobody.",
    access: { public: "nobody has an account before this" },
    noStore: true,
    effect: "steps",
    audit: { byRule: "organization_created, user_created" },
    body: z.strictObject({
      email: Email,
      password: NewPassword,
      organization: Name.optional().meta({ description: "Its name; not needed to join one." }),
      claim_code: z.string().max(128).optional(),
      invite_code: z.string().min(1).max(128).optional()
        .meta({ description: "Joins the organization that invited, instead of making one." }),
    }),
    rules: {
      "body.invite_code": "is of an invitation that is open",
      "body.claim_code": "is the code that the server printed",
      "body.organization": "is there unless an invitation is",
    },
    success: { status: 201, body: SignedIn },
    faults: ["FORBIDDEN", "CONFLICT", "GONE"],
    handle: (work, { body }, { signIn }) => signUp(work, signIn, body),
  }),
  route({
    id: "account.login",
    method: "POST",
    path: "/api/v1/login",
    summary: "Sign in; yields a JWT",
    access: { public: "this is where credentials come from" },
    noStore: true,
    effect: "steps",
    audit: { byRule: "user_login, user_login_failed" },
    description: "Whoever has a second factor sends its `code` too: without it the answer is 401 " +
      "with `details.reason` second_factor_required.",
    body: z.strictObject({
      email: KnownEmail,
      password: z.string().min(1).max(1024),
      code: z.string().min(1).max(64).optional()
        .meta({ description: "Of the authenticator, or a recovery code." }),
    }),
    success: { status: 200, body: SignedIn },
    faults: ["INVALID_LOGIN"],
    handle: (work, { body }, { signIn, background }) =>
      logIn(work, { ...signIn, background }, body),
  }),
  route({
    id: "account.refresh",
    method: "POST",
    path: "/api/v1/token/refresh",
    summary: "Go on with a session: a refresh token yields a new JWT and the next refresh token",
    description: "Each refresh token works once. For 30 seconds the same token gets the same " +
      "successor again, so a lost reply throws nobody out; shown later it ends its session, and " +
      "its person is notified. `details.reason` of the 401 is malformed, ended, inactive or reused.",
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
    id: "account.info",
    method: "GET",
    path: "/api/account/info",
    summary: "Current account, credential and rights",
    access: { signedIn: true },
    effect: "read",
    success: { status: 200, body: AccountInfo },
    faults: ["NOT_FOUND"],
    tool: { destructive: false },
    handle: (work) => accountInfo(work),
  }),
  route({
    id: "account.jwks",
    method: "GET",
    path: "/.well-known/jwks.json",
    summary: "Public keys that verify Relay's JWTs",
    description: "A JSON Web Key Set, RFC 7517; the keys are Ed25519.",
    access: { public: "public keys" },
    effect: "read",
    success: { status: 200, body: Jwks },
    faults: [],
    handle: async (_work, _input, { signingKeys }) => ({
      keys: (await signingKeys.published()).map((key) => ({ ...key.publicJwk })),
    }),
  }),
];
