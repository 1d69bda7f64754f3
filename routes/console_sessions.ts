import { z } from "zod";
import { logInByCookie, logOut, signUpByCookie } from "../core/access/access.ts";
import { LoginBody, SIGN_UP_RULES, SignedIn, SignUpBody } from "./account.ts";
import { route } from "./call/route.ts";
import { Flag, Timestamp } from "./schemas/schemas.ts";

/** A session whose credential is in a cookie only. */
const ConsoleSession = z.object({
  expires_at: Timestamp.meta({ description: "When the session ends unless it is used." }),
  second_factor: SignedIn.shape.second_factor,
}).meta({ id: "ConsoleSession" });

export const consoleSessionRoutes = [
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
