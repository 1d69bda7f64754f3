import type { Actor } from "../../identity/identity.ts";

/** The member of a record that names the MCP client by which the caller acts, if there is one. */
export const grantMember = ({ grantId }: Pick<Actor, "grantId">) =>
  grantId === undefined ? {} : { mcp_grant_id: grantId };

/** Who asked for a command, and the MCP client by which they did. */
export const askedBy = (
  { actor, mcp_grant_id }: { readonly actor: string; readonly mcp_grant_id?: string | undefined },
): Pick<Actor, "id" | "grantId"> =>
  mcp_grant_id === undefined ? { id: actor } : { id: actor, grantId: mcp_grant_id };
