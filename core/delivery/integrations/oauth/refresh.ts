import type { TokenEndpointResponse } from "oauth4webapi";
import { isImplausible } from "../../../../kv/store/clock.ts";
import type { Tenant } from "../../../../kv/store/collection.ts";
import { type IntegrationRecord, integrations } from "../../../../kv/records/integration.ts";
import { notifyAdministrators } from "../../../access/access.ts";
import { emit, RELAY_ACTOR } from "../../../events/events.ts";
import type { Context } from "../../../context/context.ts";
import {
  claimJob,
  getClaimed,
  type JobCollection,
  LEASE_MS,
  scheduleRetry,
} from "../../jobs/job.ts";
import { nextDelayMs, RetryPolicy } from "../../jobs/retry_policy.ts";
import { oauthClientOf } from "../record.ts";
import { stageRevocations } from "../revoke.ts";
import { describeTrouble, isSpent, requestRefresh } from "./provider.ts";
import { tokensOf, withTokens } from "./tokens.ts";

/** The default policy without an end: the last delay repeats while the provider is down. */
const POLICY = { ...RetryPolicy.parse({}), max_retries: Infinity };
const REFRESH: JobCollection<IntegrationRecord> = {
  of: integrations,
  // Tokens may live for years, so no due time is implausibly late. `reclaimRefresh` judges leases.
  isDue: (dueMs, nowMs) => dueMs <= nowMs,
  jobOf: (record) => ({ attempt: record.refresh_attempt, due_at_ms: record.refresh_at_ms }),
  during: (record, job) => ({
    ...record,
    refresh_attempt: job.attempt,
    refresh_at_ms: job.due_at_ms,
  }),
};
const UNREFRESHABLE =
  "The access token has expired, and the provider issued no refresh token. Connect the " +
  "integration again.";

/**
 * Refreshes due tokens, or ends the connection when that is impossible. A lease, durable before the request, lets
 * only one instance refresh at a time. Returns the new record; null when nothing is due or another instance is
 * refreshing.
 */
export async function refreshTokens(
  context: Context,
  tenant: Tenant,
  id: string,
): Promise<IntegrationRecord | null> {
  const claimed = await claimJob(context, REFRESH, tenant, id);
  if (claimed === null) return null;
  const refresh = tokensOf(context, claimed)?.refresh_token ?? null;
  const client = oauthClientOf(context, claimed);
  if (refresh === null) return await expire(context, tenant, claimed, UNREFRESHABLE);
  if (client === null || claimed.provider === null) return null;
  try {
    const answer = await requestRefresh(context, tenant.org, claimed.provider, client, refresh);
    return await context.store.transact(async (tx) => {
      const record = await tx.get(integrations, tenant, id);
      if (record === null) {
        stageRevocations(context, tx, tenant, withRefreshed(context, claimed, answer));
        return null;
      }
      // New tokens are stored even after the lease ended: the old refresh token may no longer work.
      return record.token_version === claimed.token_version
        ? tx.put(integrations, tenant, withRefreshed(context, record, answer))
        : null;
    });
  } catch (error) {
    const trouble = describeTrouble(error);
    if (trouble === null) throw error;
    return isSpent(error)
      ? await expire(context, tenant, claimed, trouble)
      : await postpone(context, tenant, claimed, trouble);
  }
}

/**
 * Makes a refresh due whose lease or delay ends implausibly late, because the clock was set back since. Only at the
 * start: the index of due times ends with tokens that live for years.
 */
export async function reclaimRefresh(
  { config, ports: { clock }, store }: Pick<Context, "config" | "ports" | "store">,
  tenant: Tenant,
  id: string,
): Promise<void> {
  const ladder = config().webhooks.retry_delays_seconds;
  await store.transact(async (tx) => {
    const record = await tx.get(integrations, tenant, id);
    if (record === null || record.refresh_at_ms === null || record.refresh_attempt === 0) return;
    const delayMs = nextDelayMs(POLICY, record.refresh_attempt, ladder) ?? 0;
    const longestMs = Math.max(2 * LEASE_MS, delayMs);
    if (!isImplausible(record.refresh_at_ms, longestMs, clock.now())) return;
    tx.put(integrations, tenant, { ...record, refresh_at_ms: clock.now() });
  });
}

/** Schedules another try, unless another instance has started one. */
async function postpone(
  context: Context,
  tenant: Tenant,
  claimed: IntegrationRecord,
  last_error: string,
): Promise<IntegrationRecord | null> {
  const { store, ports, config } = context;
  return await store.transact(async (tx) => {
    const record = await getClaimed(tx, REFRESH, tenant, claimed);
    if (record === null) return null;
    const ladder = config().webhooks.retry_delays_seconds;
    const delayMs = nextDelayMs(POLICY, record.refresh_attempt, ladder);
    const refresh_at_ms = scheduleRetry(tx, ports.clock, delayMs);
    return tx.put(integrations, tenant, { ...record, refresh_at_ms, last_error });
  });
}

/** Ends the connection: without a working refresh token only a person can connect it again. */
async function expire(
  context: Context,
  tenant: Tenant,
  claimed: IntegrationRecord,
  error: string,
): Promise<IntegrationRecord | null> {
  return await context.store.transact(async (tx) => {
    const record = await tx.get(integrations, tenant, claimed.id);
    if (record?.token_version !== claimed.token_version) return null;
    const { id, name, type } = record;
    const resource = { type: "integration", id } as const;
    const details = { name, type, error };
    emit({ ...context, actor: RELAY_ACTOR }, tx, tenant, {
      type: "integration_expired",
      resource,
      details,
    });
    await notifyAdministrators(context, tx, tenant, {
      type: "integration_expired",
      resource,
      details,
    });
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

/** The record with the tokens of a refresh. Without a new refresh token the old one stays. */
function withRefreshed(
  context: Context,
  record: IntegrationRecord,
  answer: TokenEndpointResponse,
): IntegrationRecord {
  const { account = null, refresh_token: kept = null } = tokensOf(context, record) ?? {};
  return withTokens(context, record, answer, { account, kept });
}
