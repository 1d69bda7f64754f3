import type { TokenEndpointResponse } from "oauth4webapi";
import { z } from "zod";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type IntegrationRecord, integrations } from "../../../kv/records/integration.ts";
import type { App } from "../../work/work.ts";
import { emit, RELAY_ACTOR } from "../../events/events.ts";
import { notifyAdministrators } from "../../access/people/notify.ts";
import { oauthClientOf } from "../installed.ts";
import { stageRevocations } from "../revoke.ts";
import { accountOf, describeTrouble, isSpent, requestRefresh } from "./provider.ts";

/** Tokens are refreshed this long before they end, or after three quarters of a shorter life. */
const EARLY_MS = 5 * 60 * 1000;
/** However short the provider makes their life, it is not asked more often. */
const REFRESH_MS_MIN = 10_000;
/** However long, it is written down as no more. */
const LIFE_MS_MAX = 10 * 365 * 24 * 60 * 60 * 1000;
/** Longer than a refresh may take, so that a lease only ends when its process died. */
const REFRESH_LEASE_MS = 30_000;
/** A token that ends sooner than this is not sent any more. */
const SLACK_MS = 10_000;
const UNREFRESHABLE = "The token is over, and the provider gave none to refresh it with.";

const Tokens = z.strictObject({
  access_token: z.string(),
  refresh_token: z.string().nullable(),
  /** Whose consent brought them, as `accountOf` has it; null where nobody said. */
  account: z.string().nullable().default(null), // not there in tokens of earlier versions
});
/** What a flow or a refresh brought. */
export type Tokens = z.infer<typeof Tokens>;

/** The tokens of an integration, or null when it has none. */
export function tokensOf({ sealer }: App, record: IntegrationRecord): Tokens | null {
  if (record.sealed_tokens === null) return null;
  return Tokens.parse(JSON.parse(sealer.open(record.sealed_tokens, record.id)));
}

/** An access token that works now, or null. */
export function accessTokenOf(app: App, record: IntegrationRecord): string | null {
  const { status, token_ends_at_ms } = record;
  const over = token_ends_at_ms !== null &&
    app.ports.clock.now() + SLACK_MS >= token_ends_at_ms;
  return status !== "active" || over ? null : tokensOf(app, record)?.access_token ?? null;
}

/**
 * A record with the tokens of a consent. One that brings no refresh token leaves that of an earlier one in
 * place only when both name the same account: the tokens of two people are never mixed.
 */
export function withConsent(
  app: App,
  record: IntegrationRecord,
  answer: TokenEndpointResponse,
): IntegrationRecord {
  const account = accountOf(answer);
  const before = tokensOf(app, record);
  const same = account !== null && account === before?.account;
  return withTokens(app, record, answer, { account, kept: same ? before.refresh_token : null });
}

/** A record with the tokens of a refresh; one that brings no refresh token leaves the old one in place. */
function withRefreshed(
  app: App,
  record: IntegrationRecord,
  answer: TokenEndpointResponse,
): IntegrationRecord {
  const { account = null, refresh_token: kept = null } = tokensOf(app, record) ?? {};
  return withTokens(app, record, answer, { account, kept });
}

function withTokens(
  app: App,
  record: IntegrationRecord,
  answer: TokenEndpointResponse,
  { account, kept }: { readonly account: string | null; readonly kept: string | null },
): IntegrationRecord {
  const now = app.ports.clock.now();
  const tokens: Tokens = {
    access_token: answer.access_token,
    refresh_token: answer.refresh_token ?? kept,
    account,
  };
  const lifeMs = answer.expires_in === undefined
    ? null
    : Math.min(LIFE_MS_MAX, Math.round(answer.expires_in * 1000));
  const earlyMs = tokens.refresh_token === null || lifeMs === null
    ? 0
    : Math.min(EARLY_MS, Math.floor(lifeMs / 4));
  return {
    ...record,
    status: "active",
    sealed_tokens: app.sealer.seal(JSON.stringify(tokens), record.id),
    token_version: record.token_version + 1,
    token_ends_at_ms: lifeMs === null ? null : now + lifeMs,
    refresh_at_ms: lifeMs === null ? null : now + Math.max(REFRESH_MS_MIN, lifeMs - earlyMs),
    refresh_attempt: 0,
    last_error: null,
  };
}

/**
 * Refreshes tokens that are due, or ends the connection where they cannot be, one at a time over all
 * instances: the lease is durable before anything is sent. Answers the record as it is then, or null when it
 * is not due or somebody else is at it.
 */
export async function refreshTokens(
  app: App,
  tenant: Tenant,
  id: string,
): Promise<IntegrationRecord | null> {
  const claimed = await claim(app, tenant, id);
  if (claimed === null) return null;
  const refresh = tokensOf(app, claimed)?.refresh_token ?? null;
  const client = oauthClientOf(app, claimed);
  if (refresh === null) return await expire(app, tenant, claimed, UNREFRESHABLE);
  if (client === null || claimed.provider === null) return null;
  try {
    const answer = await requestRefresh(app, tenant.org, claimed.provider, client, refresh);
    return await app.store.transact(async (tx) => {
      const record = await tx.get(integrations, tenant, id);
      if (record === null) {
        stageRevocations(app, tx, tenant, withRefreshed(app, claimed, answer));
        return null;
      }
      // Tokens that came are kept even when the lease is over: the old refresh token may be spent.
      return record.token_version === claimed.token_version
        ? tx.put(integrations, tenant, withRefreshed(app, record, answer))
        : null;
    });
  } catch (error) {
    const trouble = describeTrouble(error);
    if (trouble === null) throw error;
    return isSpent(error)
      ? await expire(app, tenant, claimed, trouble)
      : await postpone(app, tenant, claimed, trouble);
  }
}

async function claim(app: App, tenant: Tenant, id: string): Promise<IntegrationRecord | null> {
  const now = app.ports.clock.now();
  return await app.store.transact(async (tx) => {
    const record = await tx.get(integrations, tenant, id);
    if (record === null || record.refresh_at_ms === null || record.refresh_at_ms > now) return null;
    return tx.put(integrations, tenant, {
      ...record,
      refresh_at_ms: now + REFRESH_LEASE_MS,
      refresh_attempt: record.refresh_attempt + 1,
    });
  });
}

/** The provider is asked again later, unless somebody else is at it. */
async function postpone(
  app: App,
  tenant: Tenant,
  { id, refresh_attempt }: IntegrationRecord,
  last_error: string,
): Promise<IntegrationRecord | null> {
  return await app.store.transact(async (tx) => {
    const record = await tx.get(integrations, tenant, id);
    if (record?.refresh_attempt !== refresh_attempt) return null;
    const refresh_at_ms = againAt(app, refresh_attempt);
    return tx.put(integrations, tenant, { ...record, refresh_at_ms, last_error });
  });
}

/** No refresh token, or none that the provider takes: only a person can begin again. */
async function expire(
  app: App,
  tenant: Tenant,
  claimed: IntegrationRecord,
  error: string,
): Promise<IntegrationRecord | null> {
  return await app.store.transact(async (tx) => {
    const record = await tx.get(integrations, tenant, claimed.id);
    if (record?.token_version !== claimed.token_version) return null;
    const { id, name, type } = record;
    const resource = { type: "integration", id } as const;
    const details = { name, type, error };
    emit({ ports: app.ports, signals: app.signals, actor: RELAY_ACTOR }, tx, tenant, {
      type: "integration_expired",
      resource,
      details,
    });
    await notifyAdministrators(app, tx, tenant, { type: "integration_expired", resource, details });
    return tx.put(integrations, tenant, {
      ...record,
      status: "expired",
      sealed_tokens: null,
      token_version: record.token_version + 1,
      token_ends_at_ms: null,
      refresh_at_ms: null,
      refresh_attempt: 0,
      last_error: error,
    });
  });
}

/** The same ladder as webhooks have; its last step repeats for as long as the provider is down. */
function againAt(app: App, attempt: number): number {
  const ladder = app.config().webhooks.retry_delays_seconds;
  return app.ports.clock.now() + 1000 * (ladder[attempt - 1] ?? ladder.at(-1)!);
}
