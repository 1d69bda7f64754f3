import type { TokenEndpointResponse } from "oauth4webapi";
import { z } from "zod";
import type { IntegrationRecord } from "../../../../kv/records/integration.ts";
import type { Context } from "../../../context/context.ts";
import { accountOf } from "./provider.ts";

/** How long before they expire tokens are refreshed; shorter-lived ones after three quarters of their life. */
const EARLY_MS = 5 * 60 * 1000;
/** The shortest interval between refreshes, whatever life the provider states. */
const REFRESH_MS_MIN = 10_000;
/** The longest life recorded. */
const LIFE_MS_MAX = 10 * 365 * 24 * 60 * 60 * 1000;
/** A token is not used when it ends within this time. */
const SLACK_MS = 10_000;

const Tokens = z.strictObject({
  access_token: z.string(),
  refresh_token: z.string().nullable(),
  /** The account that consented, from `accountOf`; null when unknown. */
  account: z.string().nullable().default(null), // absent in tokens of earlier versions
});
/** The tokens from a flow or a refresh. */
export type Tokens = z.infer<typeof Tokens>;

type TokenContext = Pick<Context, "sealer"> & {
  readonly ports: Pick<Context["ports"], "clock">;
};

/** The tokens of an integration, or null. */
export function tokensOf(
  { sealer }: Pick<Context, "sealer">,
  record: IntegrationRecord,
): Tokens | null {
  if (record.sealed_tokens === null) return null;
  return Tokens.parse(JSON.parse(sealer.open(record.sealed_tokens, record.id)));
}

/** A working access token, or null. */
export function accessTokenOf(context: TokenContext, record: IntegrationRecord): string | null {
  const { status, token_ends_at_ms } = record;
  const ended = token_ends_at_ms !== null &&
    context.ports.clock.now() + SLACK_MS >= token_ends_at_ms;
  return status !== "active" || ended ? null : tokensOf(context, record)?.access_token ?? null;
}

/**
 * The record with the tokens of a consent. Without a new refresh token the earlier one stays only when both
 * consents name the same account, so the tokens of two people are never mixed.
 */
export function withConsent(
  context: TokenContext,
  record: IntegrationRecord,
  answer: TokenEndpointResponse,
): IntegrationRecord {
  const account = accountOf(answer);
  const before = tokensOf(context, record);
  const same = account !== null && account === before?.account;
  return withTokens(context, record, answer, { account, kept: same ? before.refresh_token : null });
}

/** The record with new tokens; `kept` is used when the provider returned no refresh token. */
export function withTokens(
  { ports, sealer }: TokenContext,
  record: IntegrationRecord,
  answer: TokenEndpointResponse,
  { account, kept }: { readonly account: string | null; readonly kept: string | null },
): IntegrationRecord {
  const now = ports.clock.now();
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
    sealed_tokens: sealer.seal(JSON.stringify(tokens), record.id),
    token_version: record.token_version + 1,
    token_ends_at_ms: lifeMs === null ? null : now + lifeMs,
    refresh_at_ms: lifeMs === null ? null : now + Math.max(REFRESH_MS_MIN, lifeMs - earlyMs),
    refresh_attempt: 0,
    last_error: null,
  };
}
