import { z } from "zod";
import {
  assignRole,
  createRole,
  deleteRole,
  listRoles,
  readRole,
  revokeRole,
  rolesOfUser,
  updateRole,
} from "../core/access/access.ts";
import { SCOPE_LIST } from "../core/identity/identity.ts";
import { route } from "./call/route.ts";
import {
  changeOf,
  Id,
  listOf,
  PageQuery,
  RoleName,
  ScopeName,
  Timestamp,
} from "./schemas/schemas.ts";

const Permissions = z.array(z.enum([...SCOPE_LIST, "all"]).meta({ id: "Permission" })).max(64)
  .meta({ description: "Scopes, or `all`." });

const Role = z.object({
  name: z.string(),
  built_in: z.boolean(),
  permissions: z.array(z.string()),
  created_by: z.string().nullable(),
  created_at: Timestamp.nullable(),
  updated_at: Timestamp.nullable(),
}).meta({ id: "Role" });

const RolesOfUser = z.object({
  user_id: z.string(),
  email: z.string(),
  active: z.boolean(),
  roles: z.array(z.string()),
  permissions: z.array(ScopeName).meta({ description: "What these roles give together now." }),
}).meta({ id: "RolesOfUser" });

const NameParams = z.strictObject({ name: RoleName });
const UserBody = z.strictObject({ user_id: Id }).meta({ id: "RoleMember" });
const ownEvent = (event: string) => ({ byRule: `${event}, when it changes something` });

export const roleRoutes = [
  route({
    id: "roles.create",
    method: "POST",
    path: "/api/v1/roles",
    summary: "Make a role of the organization's own",
    description: "It may hold only rights that the caller has now.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: {
      event: "role_created",
      resource: "role",
      id: ({ name }) => name,
      details: ({ permissions }) => ({ permissions }),
    },
    body: z.strictObject({ name: RoleName, permissions: Permissions }),
    rules: {
      "body.permissions": "holds nothing that the caller may not give",
    },
    success: { status: 201, body: Role },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }) => createRole(work, body),
  }),
  route({
    id: "roles.list",
    method: "GET",
    path: "/api/v1/roles",
    summary: "List the built-in roles and the organization's own",
    access: { scope: "system:read" },
    effect: "read",
    liveOnly: true,
    query: PageQuery,
    success: { status: 200, body: listOf("roles", Role) },
    faults: [],
    handle: (work, { query }) => listRoles(work, query),
  }),
  route({
    id: "roles.read",
    method: "GET",
    path: "/api/v1/roles/{name}",
    summary: "Read a role",
    access: { scope: "system:read" },
    effect: "read",
    liveOnly: true,
    params: NameParams,
    success: { status: 200, body: Role },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => readRole(work, params.name),
  }),
  route({
    id: "roles.update",
    method: "PUT",
    path: "/api/v1/roles/{name}",
    summary: "Replace the permissions of a role",
    description:
      "It takes effect at once for everybody who has the role. Neither the old nor the " +
      "new permissions may be beyond the caller's own rights. The record's other fields may stand " +
      "beside them as they were read.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: { byRule: "role_updated" },
    params: NameParams,
    body: changeOf(Role, { permissions: Permissions }),
    rules: {
      "body.permissions": "holds nothing that the caller may not give",
    },
    success: { status: 200, body: Role },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params, body }) => updateRole(work, params.name, body),
  }),
  route({
    id: "roles.delete",
    method: "DELETE",
    path: "/api/v1/roles/{name}",
    summary: "Delete a role that nobody has",
    description:
      "A role that somebody has is 409; `details.users` and `details.invitations` say who.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: {
      event: "role_deleted",
      resource: "role",
      id: ({ name }) => name,
      details: ({ permissions }) => ({ permissions }),
    },
    params: NameParams,
    success: {
      status: 204,
      about: z.object({ name: z.string(), permissions: z.array(z.string()) }),
    },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params }) => deleteRole(work, params.name),
  }),
  route({
    id: "roles.assign",
    method: "POST",
    path: "/api/v1/roles/{name}/assign",
    summary: "Give a role to a user",
    description:
      "The caller needs every right that the role gives; only an owner who is signed in " +
      "makes an owner.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: ownEvent("role_assigned"),
    params: NameParams,
    body: UserBody,
    success: { status: 200, body: RolesOfUser },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params, body }) => assignRole(work, params.name, body.user_id),
  }),
  route({
    id: "roles.revoke",
    method: "POST",
    path: "/api/v1/roles/{name}/revoke",
    summary: "Take a role from a user",
    description: "The caller needs every right that the role gives. The last owner stays one: 409.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: ownEvent("role_revoked"),
    params: NameParams,
    body: UserBody,
    success: { status: 200, body: RolesOfUser },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params, body }) => revokeRole(work, params.name, body.user_id),
  }),
  route({
    id: "roles.of_user",
    method: "GET",
    path: "/api/v1/roles/user/{user_id}",
    summary: "The roles of a user, and what they give together",
    access: { scope: "system:read" },
    effect: "read",
    liveOnly: true,
    params: z.strictObject({ user_id: Id }),
    success: { status: 200, body: RolesOfUser },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => rolesOfUser(work, params.user_id),
  }),
];
