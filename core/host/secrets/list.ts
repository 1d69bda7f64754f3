import type { Collection, Tenant } from "../../../kv/store/collection.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import { ingestTokens } from "../../../kv/records/ingest.ts";
import { integrations } from "../../../kv/records/integration.ts";
import { webhooks } from "../../../kv/records/webhook.ts";
import { type KeyStatus, statusOf } from "../../access/access.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";
import { iso, isoOrNull, type Sealer } from "../../codec/codec.ts";
import type { Work } from "../../work/work.ts";
import type { Paging } from "../../../kv/store/paging.ts";

type Row = { readonly id: string; readonly name: string; readonly created_at_ms: number };

/** Counts the uses of API keys and webhooks. */
interface UseCounts {
  readonly usage: { lastUsed(tenant: Tenant, keyId: string): Promise<number | null> };
  readonly deliveries: {
    readonly attempts: {
      of(tenant: Tenant, webhookId: string): Promise<{ readonly latestMs: number | null }>;
    };
  };
}

/** One kind of record that holds secrets, and what the list shows of them. */
interface Kind<T extends Row = Row> {
  readonly of: Collection<T>;
  /** Names of the secrets that a record holds. */
  readonly holds: (sealer: Sealer, record: T) => readonly string[];
  /** When one of them was last used, in ms; null for never, or when uses are not counted. */
  readonly lastUsedMs: (counts: UseCounts, tenant: Tenant, record: T) => Promise<number | null>;
  /** The status, for a kind whose records remain after their secrets stop working. */
  readonly statusOf?: (record: T, nowMs: number) => KeyStatus;
}

const kind = <T extends Row>(row: Kind<T>): Kind => row as unknown as Kind;

/** Every kind, by the type that the list shows. */
const KINDS = {
  api_key: kind({
    of: apiKeys,
    holds: () => ["value"],
    lastUsedMs: ({ usage }, tenant, { id }) => usage.lastUsed(tenant, id),
    statusOf,
  }),
  webhook: kind({
    of: webhooks,
    holds: (sealer, { id, sealed_headers }) => {
      const headers = Object.keys(JSON.parse(sealer.open(sealed_headers, id)));
      return ["secret", ...headers.map((name) => `headers.${name}`)];
    },
    lastUsedMs: async ({ deliveries }, tenant, { id }) =>
      (await deliveries.attempts.of(tenant, id)).latestMs,
  }),
  ingest_token: kind({ of: ingestTokens, holds: () => ["token"], lastUsedMs: async () => null }),
  integration: kind({
    of: integrations,
    holds: (sealer, { id, sealed_secrets, sealed_tokens }) => [
      ...Object.keys(JSON.parse(sealer.open(sealed_secrets, id))),
      ...(sealed_tokens === null ? [] : ["oauth_tokens"]),
    ],
    lastUsedMs: async (_counts, _tenant, { last_used_at_ms }) => last_used_at_ms,
  }),
} as const;

/** The kinds of records that hold secrets. */
export const SECRET_TYPES = Object.keys(KINDS) as [keyof typeof KINDS, ...(keyof typeof KINDS)[]];

interface Shown {
  readonly id: string;
  readonly type: keyof typeof KINDS;
  readonly name: string;
  readonly holds: string[];
  readonly status: KeyStatus | null;
  readonly created_at: string;
  readonly age_days: number;
  readonly last_used_at: string | null;
}

/** Names, types, ages and last uses of the stored secrets: kind by kind, oldest first. */
export async function listSecrets(
  { ports, sealer, db, actor }: Work,
  counts: UseCounts,
  { limit, offset }: Paging,
) {
  const now = ports.clock.now();
  const secrets: Shown[] = [];
  let total = 0;
  for (const type of SECRET_TYPES) {
    const { of, holds, lastUsedMs, statusOf } = KINDS[type];
    const from = Math.max(0, offset - total);
    total += await db.count(of, actor.tenant);
    const remaining = limit - secrets.length;
    if (remaining === 0 || offset >= total) continue;
    const { items } = await db.list(of, actor.tenant, { limit: remaining, offset: from });
    for (const record of items) {
      secrets.push({
        id: record.id,
        type,
        name: record.name,
        holds: [...holds(sealer, record)],
        status: statusOf?.(record, now) ?? null,
        created_at: iso(record.created_at_ms),
        age_days: Math.floor((now - record.created_at_ms) / DAY_MS),
        last_used_at: isoOrNull(await lastUsedMs(counts, actor.tenant, record)),
      });
    }
  }
  const has_more = offset + secrets.length < total;
  return { secrets, pagination: { total, limit, offset, has_more } };
}
