import { type RoleRecord, roles as customRoles } from "../../../kv/records/role.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { BUILT_IN_ROLES, type Scope, SCOPE_LIST } from "../../identity/identity.ts";

/** Stands for every right in a role's permissions. */
export const ALL = "all";

/** On the host only owners have this right, because it changes the installation. */
export const OWNERS_ON_HOST = "system:write";

/** True for a built-in role. */
export const isBuiltIn = (name: string): boolean => Object.hasOwn(BUILT_IN_ROLES, name);

/** The rights of a built-in role; none for any other name, `constructor` included. */
export const builtInRights = (name: string): readonly Scope[] =>
  isBuiltIn(name) ? BUILT_IN_ROLES[name]! : [];

/** The rights that permissions stand for. */
export const expand = (permissions: readonly string[]): readonly Scope[] =>
  permissions.includes(ALL) ? SCOPE_LIST : permissions as readonly Scope[];

/** The custom roles among these names; missing ones are left out. */
export async function customOf(
  db: Reader,
  org: string,
  names: readonly string[],
): Promise<readonly RoleRecord[]> {
  const own = names.filter((name) => !isBuiltIn(name));
  const found = own.map((name) => db.get(customRoles, { org, space: "live" }, name));
  return (await Promise.all(found)).filter((role) => role !== null);
}

/** The rights of a set of roles; on the host only an owner changes the installation. */
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

/** The rights of a set of roles in an organization now. */
export async function rightsOf(
  db: Reader,
  { id, host }: { readonly id: string; readonly host: boolean },
  names: readonly string[],
): Promise<ReadonlySet<Scope>> {
  return combine(names, await customOf(db, id, names), host);
}
