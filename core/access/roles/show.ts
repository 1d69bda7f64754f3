import { type RoleRecord, roles } from "../../../kv/records/role.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { Fault } from "../../fault/fault.ts";
import { iso } from "../../codec/codec.ts";
import { homeOf, OWNER } from "./grant.ts";
import { ALL, builtInRights, isBuiltIn, OWNERS_ON_HOST } from "./rights.ts";

/** A role as every answer shows it; the built-in ones have no history. */
export interface RoleShown {
  name: string;
  built_in: boolean;
  permissions: string[];
  created_by: string | null;
  created_at: string | null;
  updated_at: string | null;
}

/** A role of the organization or a built-in one. @throws {Fault} NOT_FOUND */
export async function roleNamed(
  db: Reader,
  org: string,
  name: string,
): Promise<RoleRecord | "built_in"> {
  if (isBuiltIn(name)) return "built_in";
  const role = await db.get(roles, homeOf(org), name);
  if (role === null) throw new Fault("NOT_FOUND", "There is no such role.");
  return role;
}

export const showRole = (role: RoleRecord, host: boolean): RoleShown => ({
  name: role.id,
  built_in: false,
  permissions: given(role.permissions, host),
  created_by: role.created_by,
  created_at: iso(role.created_at_ms),
  updated_at: iso(role.updated_at_ms),
});

export const showBuiltIn = (name: string, host: boolean): RoleShown => ({
  name,
  built_in: true,
  permissions: name === OWNER ? [ALL] : given(builtInRights(name), host),
  created_by: null,
  created_at: null,
  updated_at: null,
});

/** The permissions that a role gives in this organization. */
const given = (permissions: readonly string[], host: boolean): string[] =>
  permissions.filter((permission) => !host || permission !== OWNERS_ON_HOST);
