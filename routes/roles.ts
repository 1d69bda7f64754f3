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
import { SCOPE_LIST, SCOPES } from "../core/identity/identity.ts";
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
  permissions: z.array(ScopeName).meta({
    description: "The combined permissions of these roles now.",
  }),
}).meta({ id: "RolesOfUser" });

const ScopeInfo = z.object({
  name: ScopeName,
  description: z.string().meta({ description: "What it allows." }),
}).meta({ id: "ScopeInfo" });

const NameParams = z.strictObject({ name: RoleName });
const UserBody = z.strictObject({ user_id: Id }).meta({ id: "RoleMember" });
const ownEvent = (event: string) => ({ byRule: `${event}, when it changes something` });

export const roleRoutes = [
  route({
    id: "roles.create",
    method: "POST",
    path: "/api/v1/roles",
    summary: "Create a role",
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
      "body.permissions": "must hold only permissions that the caller may grant",
    },
    success: { status: 201, body: Role },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }) => createRole(work, body),
  }),
  route({
    id: "roles.list",
    method: "GET",
    path: "/api/v1/roles",
    summary: "List all roles",
    description: "Lists the built-in roles and the organization's own.",
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
    summary: "Get a role",
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
      "It takes effect at once for everyone with the role. The caller needs all old and new " +
      "permissions. The record's other fields may be sent back as they were read.",
    access: { scope: "system:write" },
    effect: "write",
    liveOnly: true,
    audit: { byRule: "role_updated" },
    params: NameParams,
    body: changeOf(Role, { permissions: Permissions }),
    rules: {
      "body.permissions": "must hold only permissions that the caller may grant",
    },
    success: { status: 200, body: Role },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params, body }) => updateRole(work, params.name, body),
  }),
  route({
    id: "roles.delete",
    method: "DELETE",
    path: "/api/v1/roles/{name}",
    summary: "Delete an unassigned role",
    description:
      "For an assigned role the response is 409; `details.users` and `details.invitations` name " +
      "its holders.",
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
    summary: "Assign a role to a user",
    description:
      "The caller needs every permission of the role. Only a signed-in owner may assign " +
      "ownership.",
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
    summary: "Revoke a role from a user",
    description:
      "The caller needs every permission of the role. The last owner cannot lose the role: 409.",
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
    summary: "Get a user's roles and permissions",
    access: { scope: "system:read" },
    effect: "read",
    liveOnly: true,
    params: z.strictObject({ user_id: Id }),
    success: { status: 200, body: RolesOfUser },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => rolesOfUser(work, params.user_id),
  }),
  route({
    id: "scopes.list",
    method: "GET",
    path: "/api/v1/scopes",
    summary: "List all scopes",
    description: "Lists every right that a key or role may have, and what it allows.",
    access: { signedIn: true },
    effect: "read",
    success: { status: 200, body: z.object({ scopes: z.array(ScopeInfo) }) },
    faults: [],
    handle: () => ({
      scopes: SCOPE_LIST.map((name) => ({ name, description: SCOPES[name] })),
    }),
  }),
];
