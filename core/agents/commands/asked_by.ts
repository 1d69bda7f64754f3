/** Who asked, and the grant of the MCP client by which they did. */
interface Asker {
  readonly id: string;
  readonly grantId?: string;
}

/** The member of a record that names the MCP client by which the caller acts, if there is one. */
export const grantMember = ({ grantId }: Pick<Asker, "grantId">) =>
  grantId === undefined ? {} : { mcp_grant_id: grantId };

/** Who asked for a command. */
export const askedBy = (
  { actor, mcp_grant_id }: { readonly actor: string; readonly mcp_grant_id?: string | undefined },
): Asker => mcp_grant_id === undefined ? { id: actor } : { id: actor, grantId: mcp_grant_id };
