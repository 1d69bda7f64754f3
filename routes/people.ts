import { z } from "zod";
import {
  invite,
  listInvitations,
  withdrawInvitation,
} from "../core/access/invitations/invitations.ts";
import { activatePerson, deactivatePerson, listPeople } from "../core/access/people/people.ts";
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
    summary: "List the people of the organization",
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
    summary: "Switch a user off: sessions end and keys stop working at once",
    description: "The caller needs every right that the user has. The last owner stays: 409.",
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
    summary: "Switch a user on again: keys work as before, sessions begin anew",
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
    id: "invitations.create",
    method: "POST",
    path: "/api/v1/invitations",
    summary: "Invite somebody into the organization",
    description:
      "The answer holds the `invite_code`, once; with it, signup joins the organization " +
      "instead of making one. It is good for one person, only as long as whoever invited them, and the key " +
      "that they did it with, may give the roles, and with `email` only for that one.",
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
    success: { status: 201, body: Invitation.extend({ invite_code: z.string() }) },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { body }) => invite(work, body),
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
    id: "invitations.withdraw",
    method: "DELETE",
    path: "/api/v1/invitations/{id}",
    summary: "Withdraw an invitation: its code is void",
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
