import { z } from "zod";
import { changePassword } from "../core/access/sign_in/password.ts";
import {
  confirmSecondFactor,
  disableSecondFactor,
  enrolSecondFactor,
  readSecondFactor,
  replaceRecoveryCodes,
  requireSecondFactor,
} from "../core/access/sign_in/second_factor.ts";
import { endSession, listSessions } from "../core/access/sign_in/sessions.ts";
import { listNotifications, readNotification } from "../core/access/people/notifications.ts";
import {
  readAccountSettings,
  updateAccountSettings,
} from "../core/access/people/account_settings.ts";
import { route } from "./call/route.ts";
import {
  Flag,
  IdParams,
  JsonObject,
  listOf,
  NewPassword,
  PageQuery,
  Pagination,
  Space,
  Timestamp,
} from "./schemas/schemas.ts";

const Settings = z.object({
  language: z.string().meta({ description: "BCP 47.", examples: ["en", "pt-BR"] }),
  timezone: z.string().meta({ description: "IANA.", examples: ["UTC", "Europe/Prague"] }),
}).meta({ id: "AccountSettings" });

const Session = z.object({
  id: z.string(),
  current: z.boolean(),
  address: z.string(),
  second_factor: z.boolean(),
  created_at: Timestamp,
  refreshed_at: Timestamp.nullable().meta({ description: "Null before the first refresh." }),
  expires_at: Timestamp.meta({ description: "When it ends unless it is refreshed." }),
}).meta({ id: "Session" });

const SecondFactor = z.object({
  enabled: z.boolean(),
  required: z.boolean(),
  confirmed_at: Timestamp.nullable(),
  recovery_codes_left: z.int(),
}).meta({ id: "SecondFactor" });

const Notification = z.object({
  id: z.string(),
  type: z.string().meta({ description: "Such as approval_requested or agent_lost." }),
  space: Space,
  resource_type: z.string(),
  resource_id: z.string(),
  details: JsonObject,
  created_at: Timestamp,
  read_at: Timestamp.nullable(),
}).meta({ id: "Notification" });

const Password = z.string().min(1).max(1024);
const CodeBody = z.strictObject({
  code: z.string().min(1).max(64).meta({ description: "Of the authenticator." }),
}).meta({ id: "AuthenticatorCode" });
const RecoveryCodes = z.array(z.string()).meta({ description: "Each is good for one sign-in." });

export const accountCareRoutes = [
  route({
    id: "account.settings",
    method: "GET",
    path: "/api/account/settings",
    summary: "Language and timezone of the account",
    access: { signedIn: true },
    effect: "read",
    success: { status: 200, body: Settings },
    faults: ["NOT_FOUND"],
    handle: (work) => readAccountSettings(work),
  }),
  route({
    id: "account.update_settings",
    method: "PUT",
    path: "/api/account/settings",
    summary: "Change language or timezone",
    description: "What is left out stays as it is.",
    access: { signedIn: true },
    effect: "write",
    liveOnly: true,
    audit: { byRule: "account_settings_changed, when it changes something" },
    body: z.strictObject({
      language: z.string().max(64).optional().meta({ description: "BCP 47." }),
      timezone: z.string().max(64).optional().meta({ description: "IANA." }),
    }),
    rules: {
      "body.language": "is a language tag of BCP 47",
      "body.timezone": "is a name of the IANA time zone database",
    },
    success: { status: 200, body: Settings },
    faults: ["NOT_FOUND"],
    handle: (work, { body }) => updateAccountSettings(work, body),
  }),
  route({
    id: "account.notifications",
    method: "GET",
    path: "/api/account/notifications",
    summary: "What you were told, newest first",
    description: "The newest 100 of the last 90 days that you have the rights to see. They come " +
      "live too, as `notification` on the event streams.",
    access: { signedIn: true },
    effect: "read",
    query: PageQuery.extend({
      unread: Flag.optional()
        .meta({ description: "Only those not read yet." }),
    }),
    success: {
      status: 200,
      body: z.object({
        notifications: z.array(Notification),
        unread: z.int(),
        pagination: Pagination,
      }),
    },
    faults: [],
    handle: (work, { query }) => listNotifications(work, query),
  }),
  route({
    id: "account.read_notification",
    method: "POST",
    path: "/api/account/notifications/{id}/read",
    summary: "Mark a notification as read",
    access: { signedIn: true },
    effect: "write",
    audit: { none: "who has read what of their own is theirs" },
    params: IdParams,
    body: z.strictObject({}),
    success: { status: 200, body: Notification },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params }) => readNotification(work, params.id),
  }),
  route({
    id: "account.change_password",
    method: "POST",
    path: "/api/account/password",
    summary: "Change your password; your other sessions end",
    access: { signedIn: true },
    effect: "steps",
    liveOnly: true,
    audit: { byRule: "password_changed" },
    body: z.strictObject({ current_password: Password, new_password: NewPassword }),
    rules: { "body.new_password": "is not the present one" },
    success: { status: 200, body: z.object({ sessions_ended: z.int() }) },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }, { signIn }) => changePassword(work, signIn.logins, body),
  }),
  route({
    id: "account.sessions",
    method: "GET",
    path: "/api/account/sessions",
    summary: "List your own sessions, newest first",
    access: { signedIn: true },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("sessions", Session) },
    faults: ["FORBIDDEN"],
    handle: (work, { query }) => listSessions(work, query),
  }),
  route({
    id: "account.end_session",
    method: "DELETE",
    path: "/api/account/sessions/{id}",
    summary: "End one of your own sessions; the current one too",
    access: { signedIn: true },
    effect: "write",
    liveOnly: true,
    audit: {
      event: "session_ended",
      resource: "session",
      id: ({ id }) => id,
      details: ({ address, user_id }) => ({ address, user_id }),
    },
    params: IdParams,
    success: {
      status: 204,
      about: z.object({ id: z.string(), address: z.string(), user_id: z.string() }),
    },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params }) => endSession(work, params.id),
  }),
  route({
    id: "second_factor.read",
    method: "GET",
    path: "/api/account/second-factor",
    summary: "Whether you have a second factor and need one",
    access: { signedIn: true },
    effect: "read",
    success: { status: 200, body: SecondFactor },
    faults: ["FORBIDDEN"],
    handle: (work) => readSecondFactor(work),
  }),
  route({
    id: "second_factor.enrol",
    method: "POST",
    path: "/api/account/second-factor",
    summary: "Make a TOTP secret for your authenticator",
    description: "RFC 6238: SHA-1, six digits, 30 s. Nothing changes until a code confirms it.",
    access: { signedIn: true },
    effect: "steps",
    liveOnly: true,
    noStore: true,
    audit: { none: "second_factor_enabled tells of the confirmation" },
    body: z.strictObject({ password: Password }),
    success: {
      status: 201,
      body: z.object({
        secret: z.string().meta({ description: "Base32." }),
        uri: z.string().meta({ description: "`otpauth://`, for a QR code." }),
      }),
    },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }, { signIn }) => enrolSecondFactor(work, signIn.logins, body),
  }),
  route({
    id: "second_factor.confirm",
    method: "POST",
    path: "/api/account/second-factor/confirm",
    summary: "Turn the second factor on by a first code; your other sessions end",
    access: { signedIn: true },
    effect: "steps",
    liveOnly: true,
    noStore: true,
    audit: { byRule: "second_factor_enabled" },
    body: CodeBody,
    success: {
      status: 200,
      body: z.object({ recovery_codes: RecoveryCodes, sessions_ended: z.int() }),
    },
    faults: ["FORBIDDEN", "CONFLICT", "NOT_FOUND"],
    handle: (work, { body }, { signIn }) => confirmSecondFactor(work, signIn.logins, body),
  }),
  route({
    id: "second_factor.recovery_codes",
    method: "POST",
    path: "/api/account/second-factor/recovery-codes",
    summary: "Make new recovery codes; the old ones are void",
    access: { signedIn: true },
    effect: "steps",
    liveOnly: true,
    noStore: true,
    audit: { byRule: "recovery_codes_replaced" },
    body: CodeBody,
    success: { status: 200, body: z.object({ recovery_codes: RecoveryCodes }) },
    faults: ["FORBIDDEN", "CONFLICT", "NOT_FOUND"],
    handle: (work, { body }, { signIn }) => replaceRecoveryCodes(work, signIn.logins, body),
  }),
  route({
    id: "second_factor.disable",
    method: "POST",
    path: "/api/account/second-factor/disable",
    summary: "Turn the second factor off, by one of its codes or a recovery code",
    description:
      "Your other sessions end. Where the organization requires one, this session then " +
      "has no rights but to set another one up.",
    access: { signedIn: true },
    effect: "steps",
    liveOnly: true,
    audit: { byRule: "second_factor_disabled" },
    body: CodeBody,
    success: { status: 200, body: SecondFactor },
    faults: ["FORBIDDEN", "CONFLICT", "NOT_FOUND"],
    handle: (work, { body }, { signIn }) => disableSecondFactor(work, signIn.logins, body),
  }),
  route({
    id: "second_factor.require",
    method: "PUT",
    path: "/api/account/second-factor/required",
    summary: "Decide whether everybody in the organization needs a second factor",
    description: "Whoever is or gets signed in without one then has no rights but to set one up. " +
      "API keys go on.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: { byRule: "second_factor_required" },
    body: z.strictObject({ required: z.boolean() }),
    success: { status: 200, body: z.object({ required: z.boolean() }) },
    faults: ["FORBIDDEN", "CONFLICT", "NOT_FOUND"],
    handle: (work, { body }) => requireSecondFactor(work, body),
  }),
];
