import type { Tenant } from "../../kv/collection.ts";
import type { OrganizationRecord } from "../../kv/records/organization.ts";
import { type SessionRecord, sessions, type UserRecord } from "../../kv/records/user.ts";
import type { Tx } from "../../kv/tx.ts";
import type { App, Stepping } from "../app.ts";
import { issuerOf } from "../authenticate.ts";
import { iso } from "../lists.ts";
import { signToken, tokenExpiresAtMs } from "../tokens.ts";
import { makeRoom } from "./sessions.ts";

/** How long a JWT and its session are good. */
const TOKEN_TTL_MS = 60 * 60 * 1000;

/** Begins a session of a user, in the transaction that lets them in. */
export async function openSession(
  { app, request }: Pick<Stepping, "app" | "request">,
  tx: Tx,
  tenant: Tenant,
  user: UserRecord,
  second_factor: boolean,
): Promise<SessionRecord> {
  await makeRoom(tx, tenant, user.id);
  const now = app.ports.clock.now();
  return tx.insert(sessions, tenant, {
    id: app.ports.entropy.id("ses"),
    user_id: user.id,
    epoch: user.session_epoch,
    address: request.address,
    second_factor,
    created_at_ms: now,
    expires_at_ms: tokenExpiresAtMs(now, TOKEN_TTL_MS),
  });
}

/** The answer to whoever has signed up or in. */
export async function signedIn(
  app: App,
  organization: OrganizationRecord,
  user: UserRecord,
  session: SessionRecord,
) {
  const key = await app.signingKeys.current();
  const claims = { sub: user.id, org: organization.id, sid: session.id };
  const options = {
    issuer: issuerOf(app),
    nowMs: session.created_at_ms,
    ttlMs: TOKEN_TTL_MS,
    jti: app.ports.entropy.uuid(),
  };
  const bare = organization.require_second_factor && !session.second_factor;
  return {
    token: await signToken(key, claims, options),
    token_type: "Bearer" as const,
    expires_at: iso(session.expires_at_ms),
    user: { id: user.id, email: user.email, role: user.roles[0] ?? "none" },
    organization: { id: organization.id, name: organization.name },
    ...(bare && { second_factor: "setup_required" as const }),
  };
}
