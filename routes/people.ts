import { z } from "zod";
import {
  activatePerson,
  createPasswordReset,
  deactivatePerson,
  invite,
  listInvitations,
  listPeople,
  readInvitation,
  withdrawInvitation,
} from "../core/access/access.ts";
import { route } from "./call/route.ts";
import {
  CreatedWith,
  Email,
  IdParams,
  listOf,
  PageQuery,
  RoleName,
  Timestamp,
} from "./schemas/schemas.ts";

const User = z.object({
  id: z.string(),
  email: z.string(),
  roles: z.array(z.string()),
  active: z.boolean(),
  created_at: Timestamp,
  second_factor: z.boolean().nullable().meta({
    description: "Whether the user has one. Null for callers without system:write.",
  }),
  signed_in_at: Timestamp.nullable().meta({
    description: "When the newest session that has not ended began. Null without one, and for " +
      "callers without system:write.",
  }),
}).meta({ id: "User" });

const Invitation = z.object({
  id: z.string(),
  status: z.enum(["open", "accepted", "withdrawn", "expired"]).meta({ id: "InvitationStatus" }),
  email: z.string().nullable(),
  roles: z.array(z.string()),
  invited_by: z.string(),
  invited_with: CreatedWith,
  created_at: Timestamp,
  expires_at: Timestamp,
  accepted_by: z.string().nullable(),
  accepted_at: Timestamp.nullable(),
}).meta({ id: "Invitation" });

export const peopleRoutes = [
  route({
    id: "users.list",
    method: "GET",
    path: "/api/v1/users",
    summary: "List the organization's users",
    access: { scope: "system:read" },
    effect: "read",
    liveOnly: true,
    query: PageQuery,
    success: { status: 200, body: listOf("users", User) },
    faults: [],
    handle: (work, { query }) => listPeople(work, query),
  }),
  route({
    id: "users.deactivate",
    method: "POST",
    path: "/api/v1/users/{id}/deactivate",
    summary: "Deactivate a user",
    description:
      "The user's sessions end and their keys stop working at once. The caller needs every " +
      "right of the user. The last owner cannot be deactivated: 409.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: { byRule: "user_deactivated, when it changes something" },
    params: IdParams,
    body: z.strictObject({}),
    success: { status: 200, body: User },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params }) => deactivatePerson(work, params.id),
  }),
  route({
    id: "users.activate",
    method: "POST",
    path: "/api/v1/users/{id}/activate",
    summary: "Reactivate a user",
    description: "The user's keys work as before; sessions must be started anew.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: { byRule: "user_activated, when it changes something" },
    params: IdParams,
    body: z.strictObject({}),
    success: { status: 200, body: User },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params }) => activatePerson(work, params.id),
  }),
  route({
    id: "users.reset_password",
    method: "POST",
    path: "/api/v1/users/{id}/password-reset",
    summary: "Create a link that resets a user's password",
    description:
      "Only this response shows the `token` and the `url` with it. Send the link to the user, who " +
      "sets a new password within 24 hours. It works once, and a new link replaces it. It ends " +
      "when the password changes, when the user is deactivated, and when the caller may no longer " +
      "reset it. The caller needs every right of the user; only a signed-in owner resets an " +
      "owner's password.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    noStore: true,
    audit: { byRule: "password_reset_created" },
    params: IdParams,
    body: z.strictObject({}),
    success: {
      status: 201,
      body: z.object({
        token: z.string(),
        url: z.string().meta({
          description:
            "The page that takes the new password. Without RELAY_PUBLIC_URL it is relative.",
        }),
        expires_at: Timestamp,
      }),
    },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: async (work, { params }, { settings }) => {
      const reset = await createPasswordReset(work, params.id);
      return { ...reset, url: `${settings.publicUrl ?? ""}/console/reset#${reset.token}` };
    },
  }),
  route({
    id: "invitations.create",
    method: "POST",
    path: "/api/v1/invitations",
    summary: "Invite a user to the organization",
    description:
      "Only this response shows the `invite_code` and the `url` with it. A signup with it joins the organization " +
      "instead of creating one. It works for one person, only while the inviting user and the " +
      "key used may assign the roles, and with `email` only for that address.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    noStore: true,
    audit: { byRule: "user_invited" },
    body: z.strictObject({
      email: Email.optional(),
      roles: z.array(RoleName).min(1).max(16).default(["viewer"]),
      expires_days: z.int().min(1).max(30).default(7),
    }),
    success: {
      status: 201,
      body: Invitation.extend({
        invite_code: z.string(),
        url: z.string().meta({
          description: "The page that accepts it. Without RELAY_PUBLIC_URL it is relative.",
        }),
      }),
    },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: async (work, { body }, { settings }) => {
      const invitation = await invite(work, body);
      const url = `${settings.publicUrl ?? ""}/console/join#${invitation.invite_code}`;
      return { ...invitation, url };
    },
  }),
  route({
    id: "invitations.list",
    method: "GET",
    path: "/api/v1/invitations",
    summary: "List the organization's invitations, newest first",
    access: { scope: "system:read" },
    effect: "read",
    liveOnly: true,
    query: PageQuery,
    success: { status: 200, body: listOf("invitations", Invitation) },
    faults: [],
    handle: (work, { query }) => listInvitations(work, query),
  }),
  route({
    id: "invitations.read",
    method: "POST",
    path: "/api/v1/signup/invitation",
    summary: "Show what an invitation is to",
    description: "For whoever holds the code, before they sign up with it.",
    access: { public: "the code is the credential" },
    effect: "read",
    noStore: true,
    body: z.strictObject({ invite_code: z.string().min(1).max(128) }),
    rules: { "body.invite_code": "must belong to an open invitation" },
    success: {
      status: 200,
      body: z.object({
        organization: z.string(),
        email: z.string().nullable().meta({
          description: "The only email that may accept it; null for any.",
        }),
        roles: z.array(z.string()),
        expires_at: Timestamp,
      }),
    },
    faults: ["GONE"],
    handle: (work, { body }) => readInvitation(work, body.invite_code),
  }),
  route({
    id: "invitations.withdraw",
    method: "DELETE",
    path: "/api/v1/invitations/{id}",
    summary: "Withdraw an invitation",
    description: "The code of the invitation stops working.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: {
      event: "invitation_withdrawn",
      resource: "invitation",
      id: ({ id }) => id,
      details: ({ email, roles }) => ({ email, roles }),
    },
    params: IdParams,
    success: {
      status: 204,
      about: z.object({ id: z.string(), email: z.string().nullable(), roles: z.array(z.string()) }),
    },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params }) => withdrawInvitation(work, params.id),
  }),
];
