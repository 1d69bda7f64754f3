import type { Tenant } from "../../../kv/store/collection.ts";
import type { OrganizationRecord } from "../../../kv/records/organization.ts";
import { type SessionRecord, sessions, type UserRecord } from "../../../kv/records/user.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { App, Stepping } from "../../work/work.ts";
import { issuerOf } from "../authenticate.ts";
import { iso } from "../../codec/instant.ts";
import { signToken, tokenExpiresAtMs } from "../tokens/tokens.ts";
import { makeRefreshSecret, refreshToken, sessionEndsAtMs } from "./refresh_token.ts";
import { makeRoom } from "./sessions.ts";

/** How long a JWT is good. */
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
  const id = app.ports.entropy.id("ses");
  return tx.insert(sessions, tenant, {
    id,
    user_id: user.id,
    epoch: user.session_epoch,
    address: request.address,
    second_factor,
    created_at_ms: now,
    expires_at_ms: sessionEndsAtMs(now, now),
    sealed_refresh_secret: makeRefreshSecret(app, id),
    refresh_count: 1,
    refreshed_at_ms: [],
  });
}

/**
 * The answer to whoever has signed up or in, or refreshed a session: a new JWT, and the refresh token with
 * this number.
 */
export async function signedIn(
  app: App,
  organization: OrganizationRecord,
  user: UserRecord,
  session: SessionRecord,
  refreshCount = session.refresh_count,
) {
  const nowMs = app.ports.clock.now();
  const ttlMs = Math.min(TOKEN_TTL_MS, session.expires_at_ms - nowMs);
  const key = await app.signingKeys.current();
  const claims = { sub: user.id, org: organization.id, sid: session.id };
  const options = {
    issuer: issuerOf(app),
    nowMs,
    ttlMs,
    jti: app.ports.entropy.uuid(),
  };
  const bare = organization.require_second_factor && !session.second_factor;
  return {
    token: await signToken(key, claims, options),
    token_type: "Bearer" as const,
    expires_at: iso(tokenExpiresAtMs(nowMs, ttlMs)),
    refresh_token: refreshToken(app, organization.id, session, refreshCount),
    refresh_expires_at: iso(session.expires_at_ms),
    user: { id: user.id, email: user.email, role: user.roles[0] ?? "none" },
    organization: { id: organization.id, name: organization.name },
    ...(bare && { second_factor: "setup_required" as const }),
  };
}
