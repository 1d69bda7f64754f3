import type { Role, Scope } from "../../../../core/client/client.ts";
import { SCOPE_LIST } from "../../components/scopes.ts";

/** The rights of a role; `all` stands for every one. */
export const rightsOf = ({ permissions }: Pick<Role, "permissions">): readonly Scope[] =>
  SCOPE_LIST.filter((scope) => permissions.includes("all") || permissions.includes(scope));

/** Each right that someone with these roles has, with the roles that give it. */
export function rightsByRole(
  names: readonly string[],
  roles: readonly Role[],
): readonly { readonly right: Scope; readonly from: readonly string[] }[] {
  const held = roles.filter(({ name }) => names.includes(name));
  return SCOPE_LIST.map((right) => ({
    right,
    from: held.filter((role) => rightsOf(role).includes(right)).map(({ name }) => name),
  })).filter(({ from }) => from.length > 0);
}
