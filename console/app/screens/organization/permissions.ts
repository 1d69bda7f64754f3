import type { AccountInfo, Role, Scope } from "../../../../core/client/client.ts";

/** The rights of a role; `all` stands for every one. */
export const rightsOf = (
  { permissions }: Pick<Role, "permissions">,
  all: readonly Scope[],
): readonly Scope[] =>
  all.filter((scope) => permissions.includes("all") || permissions.includes(scope));

/** Each right that someone with these roles has, with the roles that give it. */
export function rightsByRole(
  names: readonly string[],
  roles: readonly Role[],
  all: readonly Scope[],
): readonly { readonly right: Scope; readonly from: readonly string[] }[] {
  const held = roles.filter(({ name }) => names.includes(name));
  return all.map((right) => ({
    right,
    from: held.filter((role) => rightsOf(role, all).includes(right)).map(({ name }) => name),
  })).filter(({ from }) => from.length > 0);
}

/** Whether someone may give a role, and take it away: it takes each of its rights, and ownership an owner. */
export const mayGive = (
  { user, scopes }: Pick<AccountInfo, "user" | "scopes">,
  role: Pick<Role, "name" | "permissions">,
  all: readonly Scope[],
): boolean =>
  (role.name !== "owner" || user.roles.includes("owner")) &&
  rightsOf(role, all).every((right) => scopes.includes(right));
