import { z } from "zod";
import { count, instant } from "./fields.ts";
import { event } from "./event.ts";

const email = z.string().describe("Of the user.");
const invitedEmail = z.string().nullable().describe(
  "The only person who may use it; null for anyone who has it.",
);
const address = z.string().describe("The network address of the request.");
const roles = (of: string) => z.array(z.string()).describe(`The roles ${of}.`);
const permissions = (of: string) => z.array(z.string()).describe(`The rights of the role ${of}.`);
const sessionsEnded = count("The number of sessions that ended with it");
const changedRoles = z.strictObject({
  role: z.string().describe("The role that was assigned or revoked."),
  email,
  roles_before: roles("before"),
  roles_after: roles("since"),
});
const deviceName = z.string().describe("The name that the terminal gave itself.");
const deviceAddress = z.string().describe("The network address of the terminal.");
const emailExample = "ada@example.com";

/** Users, roles and sign-in. */
export const peopleEvents = {
  role_created: event({
    meaning: "a role was created",
    details: z.strictObject({ permissions: permissions("now") }),
    example: { permissions: ["agents:read"] },
  }),
  role_updated: event({
    meaning: "the permissions of a role were changed",
    details: z.strictObject({
      permissions_before: permissions("before"),
      permissions_after: permissions("since"),
    }),
    example: {
      permissions_before: ["agents:read"],
      permissions_after: ["agents:read", "agents:write"],
    },
  }),
  role_deleted: event({
    meaning: "a role was deleted",
    details: z.strictObject({ permissions: permissions("at its end") }),
    example: { permissions: ["agents:read"] },
  }),
  role_assigned: event({
    meaning: "a role was assigned to a user",
    details: changedRoles,
    example: {
      role: "operator",
      email: emailExample,
      roles_before: ["viewer"],
      roles_after: ["viewer", "operator"],
    },
  }),
  role_revoked: event({
    meaning: "a role was revoked from a user",
    details: changedRoles,
    example: {
      role: "operator",
      email: emailExample,
      roles_before: ["viewer", "operator"],
      roles_after: ["viewer"],
    },
  }),
  user_invited: event({
    meaning: "a person was invited to the organization",
    details: z.strictObject({
      email: invitedEmail,
      roles: roles("that they get"),
      expires_at: instant("the invitation lapses"),
    }),
    example: { email: emailExample, roles: ["viewer"], expires_at: "2026-02-07T12:00:00.000Z" },
  }),
  invitation_withdrawn: event({
    meaning: "an invitation was withdrawn",
    details: z.strictObject({ email: invitedEmail, roles: roles("that it would have given") }),
    example: { email: emailExample, roles: ["viewer"] },
  }),
  user_created: event({
    meaning: "a user was created",
    details: z.strictObject({
      email,
      roles: roles("that they have"),
      invitation_id: z.string().optional().describe("The invitation that was accepted."),
      invited_by: z.string().optional().describe("Who invited them."),
    }),
    example: {
      email: emailExample,
      roles: ["viewer"],
      invitation_id: "inv_0m3xb",
      invited_by: "usr_0m3x1",
    },
  }),
  user_deactivated: event({
    meaning: "a user was deactivated",
    details: z.strictObject({ email, sessions_ended: sessionsEnded }),
    example: { email: emailExample, sessions_ended: 2 },
  }),
  user_activated: event({
    meaning: "a user was reactivated",
    details: z.strictObject({ email, roles: roles("that they have") }),
    example: { email: emailExample, roles: ["viewer"] },
  }),
  user_login: event({
    meaning: "a user signed in",
    details: z.strictObject({
      email,
      address,
      second_factor: z.enum(["none", "totp", "recovery_code", "approving_session", "issuer"])
        .describe(
          "The second factor used; `approving_session` for a terminal that a session with one approved; " +
            "`issuer` for a sign-in there, which decides about second factors.",
        ),
      issuer: z.string().optional().describe("The issuer where the user signed in."),
      device_name: z.string().optional().describe("The terminal that another session approved."),
    }),
    example: { email: emailExample, address: "192.0.2.17", second_factor: "totp" },
  }),
  device_login_approved: event({
    meaning: "a user approved the sign-in of a terminal",
    details: z.strictObject({ email, device_name: deviceName, address: deviceAddress }),
    example: { email: emailExample, device_name: "ana@laptop", address: "198.51.100.7" },
  }),
  device_login_denied: event({
    meaning: "a user denied the sign-in of a terminal",
    result: "denied",
    details: z.strictObject({ email, device_name: deviceName, address: deviceAddress }),
    example: { email: emailExample, device_name: "ana@laptop", address: "198.51.100.7" },
  }),
  user_login_failed: event({
    meaning: "a sign-in failed",
    result: "failure",
    details: z.strictObject({
      email,
      address,
      wrong: z.enum(["password", "second_factor"]).describe("What was wrong."),
    }),
    example: { email: emailExample, address: "192.0.2.17", wrong: "password" },
  }),
  password_changed: event({
    meaning: "a user changed their password",
    details: z.strictObject({ email, address, sessions_ended: sessionsEnded }),
    example: { email: emailExample, address: "192.0.2.17", sessions_ended: 2 },
  }),
  password_reset: event({
    meaning: "an operator with access to the store reset a user's password",
    details: z.strictObject({
      email,
      second_factor_removed: z.boolean().describe("True when the second factor was removed too."),
      sessions_ended: sessionsEnded,
    }),
    example: { email: emailExample, second_factor_removed: false, sessions_ended: 1 },
  }),
  password_reset_created: event({
    meaning: "an administrator created a link that resets a user's password",
    details: z.strictObject({ email, expires_at: instant("the link stops working") }),
    example: { email: emailExample, expires_at: "2026-02-01T12:00:00.000Z" },
  }),
  password_reset_used: event({
    meaning: "a user's password was reset with a link",
    details: z.strictObject({
      email,
      created_by: z.string().describe("The user who created the link."),
      address,
      sessions_ended: sessionsEnded,
    }),
    example: {
      email: emailExample,
      created_by: "usr_0m3x1",
      address: "192.0.2.17",
      sessions_ended: 2,
    },
  }),
  session_refreshed: event({
    meaning: "a user's session was refreshed",
    details: z.strictObject({ email, address }),
    example: { email: emailExample, address: "192.0.2.17" },
  }),
  refresh_token_reused: event({
    meaning: "a used refresh token was presented again, and its session was ended",
    details: z.strictObject({ email, address }),
    example: { email: emailExample, address: "198.51.100.7" },
  }),
  session_ended: event({
    meaning: "a user ended one of their sessions",
    details: z.strictObject({
      address: z.string().describe("The network address of the sign-in."),
      user_id: z.string().describe("The user's id."),
    }),
    example: { address: "192.0.2.17", user_id: "usr_0m3x1" },
  }),
  account_settings_changed: event({
    meaning: "a user changed their language or timezone",
    details: z.strictObject({
      language: z.string().describe("A BCP 47 language tag."),
      timezone: z.string().describe("An IANA time zone name."),
    }),
    example: { language: "pt-BR", timezone: "America/Sao_Paulo" },
  }),
  second_factor_enabled: event({
    meaning: "a user enabled a second factor",
    details: z.strictObject({ email, sessions_ended: sessionsEnded }),
    example: { email: emailExample, sessions_ended: 1 },
  }),
  second_factor_disabled: event({
    meaning: "a user disabled the second factor",
    details: z.strictObject({ email, sessions_ended: sessionsEnded }),
    example: { email: emailExample, sessions_ended: 0 },
  }),
  recovery_codes_replaced: event({
    meaning: "a user created new recovery codes",
    details: z.strictObject({ email }),
    example: { email: emailExample },
  }),
  recovery_code_used: event({
    meaning: "a user signed in with a recovery code",
    details: z.strictObject({ email, address }),
    example: { email: emailExample, address: "192.0.2.17" },
  }),
  second_factor_required: event({
    meaning: "the organization started or stopped requiring a second factor",
    details: z.strictObject({ required: z.boolean() }),
    example: { required: true },
  }),
} as const;
