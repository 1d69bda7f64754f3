import type { RoleRecord } from "../../../kv/records/role.ts";
import { roles as customRoles } from "../../../kv/records/role.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { BUILT_IN_ROLES, type Scope, SCOPE_LIST } from "../../work/scopes.ts";

/** Every permission that a role may hold. */
export const ALL = "all";

/** What on the host an owner has and no other role gives: it changes the installation. */
export const OWNERS_ON_HOST = "system:write";

/** True for a role that exists everywhere. */
export const isBuiltIn = (name: string): boolean => Object.hasOwn(BUILT_IN_ROLES, name);

/** The rights of a role that exists everywhere: none for any other name, also one such as `constructor`. */
export const builtInRights = (name: string): readonly Scope[] =>
  isBuiltIn(name) ? BUILT_IN_ROLES[name]! : [];

/** The rights that permissions stand for. */
export const expand = (permissions: readonly string[]): readonly Scope[] =>
  permissions.includes(ALL) ? SCOPE_LIST : permissions as readonly Scope[];

/** Those of these roles that the organization made itself; what it has not made is left out. */
export async function customOf(
  db: Reader,
  org: string,
  names: readonly string[],
): Promise<readonly RoleRecord[]> {
  const own = names.filter((name) => !isBuiltIn(name));
  const found = own.map((name) => db.get(customRoles, { org, space: "live" }, name));
  return (await Promise.all(found)).filter((role) => role !== null);
}

/** The rights that a set of roles gives; on the host only an owner changes the installation. */
export function combine(
  names: readonly string[],
  custom: readonly RoleRecord[],
  host: boolean,
): ReadonlySet<Scope> {
  const rights = new Set<Scope>(names.flatMap(builtInRights));
  for (const { permissions } of custom) for (const scope of expand(permissions)) rights.add(scope);
  if (host && !names.includes("owner")) rights.delete(OWNERS_ON_HOST);
  return rights;
}

/** The rights that a set of roles gives in an organization now. */
export async function rightsOf(
  db: Reader,
  { id, host }: { readonly id: string; readonly host: boolean },
  names: readonly string[],
): Promise<ReadonlySet<Scope>> {
  return combine(names, await customOf(db, id, names), host);
}
