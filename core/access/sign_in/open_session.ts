import type { Tenant } from "../../../kv/store/collection.ts";
import type { OrganizationRecord } from "../../../kv/records/organization.ts";
import { type SessionRecord, sessions, type UserRecord } from "../../../kv/records/user.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import type { RequestInfo } from "../../identity/identity.ts";
import { iso } from "../../codec/codec.ts";
import type { SignIn } from "./parts.ts";
import { lacksFactor } from "./lacks_factor.ts";
import { tokenExpiresAtMs } from "../tokens/jwt.ts";
import { makeRefreshSecret, refreshToken, sessionEndsAtMs } from "./refresh_token.ts";
import { endSurplus } from "./sessions.ts";

/** How long a JWT is valid. */
const TOKEN_TTL_MS = 60 * 60 * 1000;

/** What somebody showed to begin a session. */
export interface Shown {
  readonly second_factor: boolean;
  /** True for an approved code in place of the password. */
  readonly by_code?: true;
  /** The issuer where the person signed in, whose business a second factor is. */
  readonly issuer?: string;
}

/** Opens a session, in the transaction of the sign-in. A self-approval relies on what was shown. */
export async function openSession(
  { ports, sealer, request }: Pick<Context, "ports" | "sealer"> & { readonly request: RequestInfo },
  tx: Tx,
  tenant: Tenant,
  user: UserRecord,
  shown: Shown,
): Promise<SessionRecord> {
  await endSurplus(tx, tenant, user.id);
  const now = ports.clock.now();
  const id = ports.entropy.id("ses");
  return tx.insert(sessions, tenant, {
    id,
    user_id: user.id,
    epoch: user.session_epoch,
    address: request.address,
    ...shown,
    created_at_ms: now,
    expires_at_ms: sessionEndsAtMs(now, now),
    sealed_refresh_secret: makeRefreshSecret({ ports, sealer }, id),
    refresh_count: 1,
    refreshed_at_ms: [],
  });
}

/** A session with its user and organization. */
export interface Begun {
  readonly organization: OrganizationRecord;
  readonly user: UserRecord;
  readonly session: SessionRecord;
}

/** Says that a session has no rights before its user sets up a second factor. */
export const missingFactor = ({ organization, session }: Omit<Begun, "user">) =>
  lacksFactor(organization, session) ? { second_factor: "setup_required" as const } : {};

/** The answer to a signup, a sign-in or a refresh: a new JWT, and the refresh token with this number. */
export async function issueTokens(
  { ports, sealer }: Pick<Context, "ports" | "sealer">,
  tokens: SignIn["tokens"],
  organization: OrganizationRecord,
  user: UserRecord,
  session: SessionRecord,
  refreshCount = session.refresh_count,
) {
  const nowMs = ports.clock.now();
  const ttlMs = Math.min(TOKEN_TTL_MS, session.expires_at_ms - nowMs);
  const claims = { sub: user.id, org: organization.id, sid: session.id };
  return {
    token: await tokens.sign(claims, { nowMs, ttlMs, jti: ports.entropy.uuid() }),
    token_type: "Bearer" as const,
    expires_at: iso(tokenExpiresAtMs(nowMs, ttlMs)),
    refresh_token: refreshToken(sealer, organization.id, session, refreshCount),
    refresh_expires_at: iso(session.expires_at_ms),
    user: { id: user.id, email: user.email, role: user.roles[0] ?? "none" },
    organization: { id: organization.id, name: organization.name },
    ...missingFactor({ organization, session }),
  };
}
