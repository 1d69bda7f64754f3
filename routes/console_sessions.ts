import { z } from "zod";
import {
  beginIssuerSignIn,
  finishIssuerSignIn,
  logInByCookie,
  logOut,
  signInOptions,
  signUpByCookie,
} from "../core/access/access.ts";
import { LoginBody, SIGN_UP_RULES, SignedIn, SignUpBody } from "./account.ts";
import { route } from "./call/route.ts";
import { Flag, Sent, Timestamp } from "./schemas/schemas.ts";

/** A session whose credential is in a cookie only. */
const ConsoleSession = z.object({
  expires_at: Timestamp.meta({ description: "When the session ends unless it is used." }),
  second_factor: SignedIn.shape.second_factor,
}).meta({ id: "ConsoleSession" });

const SignInOptions = z.object({
  signed_in: z.boolean().meta({
    description: "Whether the request has a live credential, such as the session cookie.",
  }),
  claimed: z.boolean().meta({
    description: "False before the first sign-up, which claims the relay.",
  }),
  claim_code: z.boolean().meta({ description: "Whether that sign-up needs the claim code." }),
  sign_up: z.enum(["open", "invite", "closed"]).meta({
    description: "Who may sign up later: everyone, invited people, or nobody.",
  }),
  issuers: z.array(z.object({
    issuer: z.string(),
    name: z.string(),
    url: z.string().meta({ description: "Where a link of the sign-in page leads." }),
  })).meta({ description: "Where people may sign in by OpenID Connect." }),
}).meta({ id: "SignInOptions" });

/**
 * The address of a screen: a path below /console with a query. Browsers read a backslash as a slash and resolve dot
 * segments, also encoded ones, so the path has none of them.
 */
const ConsolePath = z.string().max(2048).regex(
  /^\/console(?:\/(?!\.\.?(?:[/?]|$))(?:[A-Za-z0-9_.~:@-]|%(?!2[EeFf]|5[Cc]|[01]|7[Ff])[0-9A-Fa-f]{2})+)*(?:\?[A-Za-z0-9_.~:@%&=+*,/-]*)?$/,
  "must be a path below /console, such as /console/approvals/apr_1",
);

export const consoleSessionRoutes = [
  route({
    id: "console_session.options",
    method: "GET",
    path: "/api/v1/console-session",
    summary: "Get the ways to sign in and sign up",
    access: { public: "a page for signing in shows them", credential: "optional" },
    noStore: true,
    effect: "read",
    success: { status: 200, body: SignInOptions },
    faults: [],
    handle: (work, _input, { signIn }) => signInOptions(work, signIn),
  }),
  route({
    id: "console_session.begin",
    method: "POST",
    path: "/api/v1/console-session",
    summary: "Sign a browser in by cookie",
    description:
      "Signs in like POST /api/v1/login, but the session is only in a cookie that no script can " +
      "read (HttpOnly, SameSite=Strict). Requests with that cookie and no other credential are " +
      "by its user. With the cookie, requests that change something, and this one, need " +
      "`Sec-Fetch-Site: same-origin` and the relay's own `Origin`; others get 403. Plain HTTP " +
      "beyond the relay's own machine gets 403 too.",
    access: { public: "this endpoint issues credentials", ownPages: true },
    noStore: true,
    effect: "steps",
    audit: { byRule: "user_login, user_login_failed" },
    body: LoginBody,
    success: { status: 200, body: ConsoleSession },
    faults: ["INVALID_LOGIN", "FORBIDDEN"],
    handle: (work, { body }, { signIn, background }) =>
      logInByCookie(work, { ...signIn, background }, body),
  }),
  route({
    id: "console_session.sign_up",
    method: "POST",
    path: "/api/v1/console-session/sign-up",
    summary: "Sign a user up, and their browser in by cookie",
    description:
      "Signs up like POST /api/v1/signup: with `organization` it creates one, with `invite_code` " +
      "it joins one. The session is only in the cookie of POST /api/v1/console-session.",
    access: { public: "nobody has an account before this", ownPages: true },
    noStore: true,
    effect: "steps",
    audit: { byRule: "organization_created, user_created" },
    body: SignUpBody,
    rules: SIGN_UP_RULES,
    success: { status: 201, body: ConsoleSession },
    faults: ["FORBIDDEN", "CONFLICT", "GONE"],
    handle: (work, { body }, { signIn }) => signUpByCookie(work, signIn, body),
  }),
  route({
    id: "console_session.oidc_start",
    method: "GET",
    path: "/api/v1/console-session/oidc/start",
    summary: "Sign a browser in at an issuer by OpenID Connect",
    description:
      "The issuer is one of GET /api/v1/console-session. It is an authorization code flow with " +
      "PKCE, state and nonce, which a cookie keeps sealed for ten minutes.",
    access: { public: "nobody is signed in before this", ownPages: true },
    noStore: true,
    effect: "read",
    query: z.strictObject({
      issuer: z.string().min(1).max(1024).meta({ description: "The issuer's address." }),
      return_to: ConsolePath.default("/console").meta({
        description: "The path of the console to which the sign-in returns, with its query.",
      }),
    }),
    success: {
      status: 303,
      location:
        "The issuer's page, or `<return_to>#sign_in_failed=<reason>`: refused or unreachable.",
    },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { query }, { signIn }) => beginIssuerSignIn(work, signIn, query),
  }),
  route({
    id: "console_session.oidc_callback",
    method: "GET",
    path: "/api/v1/console-session/oidc/callback",
    summary: "Complete the sign-in at an issuer",
    description:
      "Only the browser that began may complete it, once. The ID token leads to a user as the " +
      "issuer's access tokens do. The session is in the cookie of POST /api/v1/console-session.",
    access: { public: "the code and the cookie of the start are the credential" },
    noStore: true,
    effect: "steps",
    audit: { byRule: "user_login" },
    query: z.looseObject({
      state: Sent.meta({ description: "The state from the start." }),
      code: Sent.meta({ description: "The authorization code." }),
      iss: Sent.meta({ description: "The issuer (RFC 9207)." }),
      error: Sent.meta({ description: "The issuer's error, such as `access_denied`." }),
    }),
    success: {
      status: 303,
      location:
        "The start's `return_to`; after a failure with `#sign_in_failed=<reason>`: denied, " +
        "expired, inactive, refused, unknown_user or unreachable. An expired flow returns to " +
        "`/console`.",
    },
    faults: [],
    handle: (work, { query: { state, code, iss, error } }, { signIn, authenticator }) =>
      finishIssuerSignIn(work, { ...signIn, authenticator }, { state, code, iss, error }),
  }),
  route({
    id: "console_session.end",
    method: "DELETE",
    path: "/api/v1/console-session",
    summary: "Sign out, here or everywhere",
    description:
      "Ends the caller's session and deletes the cookie. With `everywhere` it ends all sessions " +
      "of the user.",
    access: { signedIn: true },
    effect: "write",
    audit: { byRule: "session_ended, for each session" },
    query: z.strictObject({
      everywhere: Flag.optional().meta({ description: "Ends all sessions of the user." }),
    }),
    success: { status: 204, about: z.null() },
    faults: ["FORBIDDEN"],
    handle: (work, { query }) => logOut(work, query.everywhere === true),
  }),
];
