import { type McpGrantRecord, mcpGrants, users } from "../../../kv/records/user.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { pageOf, type Paging } from "../../../kv/store/paging.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { type DetailsOf, emit, type EventType } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import type { Scope } from "../../identity/identity.ts";
import type { Stepping, Work, Writing } from "../../work/work.ts";
import { mustBeSignedIn } from "../people/person.ts";
import { homeOf } from "../roles/grant.ts";

/** Maximum number of MCP clients of one person; beyond it, the one with the earliest expiry ends. */
const GRANTS_MAX = 50;
/** Above the maximum, because concurrent consents may exceed it. */
const READ_MAX = 2 * GRANTS_MAX;

/** The caller's own MCP clients, newest first. @throws {Fault} FORBIDDEN */
export async function listMcpClients({ db, actor }: Work, paging: Paging) {
  mustBeSignedIn(actor);
  const home = homeOf(actor.tenant.org);
  const user = await db.get(users, home, actor.userId);
  const live = (await grantsOf(db, home, actor.userId))
    .filter(({ epoch, challenge }) => epoch === user?.session_epoch && challenge === null);
  const { items, pagination } = pageOf(live.toReversed(), paging);
  return { clients: items.map(show), pagination };
}

const show = (grant: McpGrantRecord) => ({
  id: grant.id,
  name: grant.client_name,
  client_id: grant.client_id,
  redirect_uri: grant.redirect_uri,
  resource: grant.resource,
  scopes: grant.scopes as Scope[],
  space: grant.space,
  address: grant.address,
  created_at: iso(grant.created_at_ms),
  refreshed_at: isoOrNull(grant.refreshed_at_ms.at(-1) ?? null),
  expires_at: iso(grant.expires_at_ms),
});

/** Ends one of the caller's own MCP clients before this answers. @throws {Fault} NOT_FOUND, FORBIDDEN */
export async function endMcpClient(work: Writing, id: string) {
  const { actor, tx } = work;
  mustBeSignedIn(actor);
  const home = homeOf(actor.tenant.org);
  const grant = await tx.get(mcpGrants, home, id);
  if (grant === null || grant.user_id !== actor.userId) {
    throw new Fault("NOT_FOUND", "There is no such MCP client.");
  }
  endGrant(work, tx, home, grant, "by_user");
  return null;
}

/** What a request of a client needs: it has no caller. */
export type ByClient = Pick<
  Stepping,
  "config" | "store" | "ports" | "sealer" | "signals" | "request"
>;
type By = Pick<ByClient, "ports" | "signals" | "request">;

/** Ends a grant, and with it all tokens of its client. */
export function endGrant(
  work: By,
  tx: Tx,
  home: Tenant,
  grant: McpGrantRecord,
  reason: DetailsOf<"mcp_client_ended">["reason"],
): void {
  tx.delete(mcpGrants, home, grant.id);
  noteGrant(work, tx, home, grant, "mcp_client_ended", { reason });
}

type GrantEvent = Extract<EventType, `mcp_client_${string}`>;
type Common = keyof DetailsOf<"mcp_client_connected">;

/** Records what happened with a grant, or with a client that got none, as an act of its person. */
export function noteGrant<T extends GrantEvent>(
  { ports, signals, request }: By,
  tx: Tx,
  home: Tenant,
  { id, user_id, client_name }: Pick<McpGrantRecord, "user_id" | "client_name"> & { id?: string },
  type: T,
  more: Omit<DetailsOf<T>, Common>,
): void {
  emit({ ports, signals, request, actor: { id: user_id } }, tx, home, {
    type,
    resource: id === undefined ? { type: "user", id: user_id } : { type: "mcp_grant", id },
    details: { client: client_name, address: request.address, ...more } as unknown as DetailsOf<T>,
  });
}

/**
 * Ends the grants that would end first, so that one more stays within the maximum. Those whose code is not exchanged
 * yet go last: they would end soon, but their clients are about to begin.
 */
export async function endSurplusGrants(work: By, tx: Tx, home: Tenant, userId: string) {
  const open = (await grantsOf(tx, home, userId)).toSorted((a, b) =>
    Number(a.challenge !== null) - Number(b.challenge !== null) || a.expires_at_ms - b.expires_at_ms
  );
  for (const grant of open.slice(0, Math.max(0, open.length - GRANTS_MAX + 1))) {
    endGrant(work, tx, home, grant, "surplus");
  }
}

/** A person's grants, oldest first. */
const grantsOf = async (db: Reader, home: Tenant, userId: string): Promise<McpGrantRecord[]> =>
  (await db.list(mcpGrants, home, { index: "user", prefix: [userId], limit: READ_MAX })).items;
