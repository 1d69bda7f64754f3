import type { Tenant } from "../../../kv/store/collection.ts";
import { type IntegrationRecord, integrations } from "../../../kv/records/integration.ts";
import type { Context } from "../../context/context.ts";
import { actsFor, personRights } from "../../access/access.ts";
import { LENDING_RIGHT } from "./standing.ts";
import { serviceOf } from "./catalog.ts";
import { refreshTokens } from "./oauth/refresh.ts";
import { accessTokenOf } from "./oauth/tokens.ts";
import { configOf, INTEGRATIONS_MAX } from "./record.ts";

/** Basic credentials for Git over HTTPS. */
export interface RepositoryCredential {
  readonly username: string;
  readonly password: string;
  /** The integration that supplies them. */
  readonly integrationId: string;
}

/**
 * Credentials for a Git server, by host and non-default port. Null when no integration has working credentials, or
 * the person it acts for may no longer lend them. The test space has none. The newest integration wins.
 */
export async function repositoryCredentialOf(
  context: Context,
  tenant: Tenant,
  host: string,
  { quiet = false }: {
    /** True to leave the use unrecorded. */
    readonly quiet?: boolean;
  } = {},
): Promise<RepositoryCredential | null> {
  const { items } = await context.store.list(integrations, tenant, {
    limit: 2 * INTEGRATIONS_MAX,
    reverse: true,
  });
  for (const record of items) {
    const access = serviceOf(record).repository?.(configOf(context, record)) ?? null;
    if (access === null || access.host !== host.toLowerCase()) continue;
    if (!(await personRights(context.store, tenant.org, actsFor(record))).has(LENDING_RIGHT)) {
      continue;
    }
    const password = access.password ?? await freshToken(context, tenant, record);
    if (password === null) continue;
    if (!quiet) await recordUse(context, tenant, record.id);
    return { username: access.username, password, integrationId: record.id };
  }
  return null;
}

async function freshToken(
  context: Context,
  tenant: Tenant,
  record: IntegrationRecord,
): Promise<string | null> {
  const token = accessTokenOf(context, record);
  if (token !== null) return token;
  const refreshed = await refreshTokens(context, tenant, record.id);
  return refreshed && accessTokenOf(context, refreshed);
}

async function recordUse(
  { store, ports }: Context,
  tenant: Tenant,
  id: string,
): Promise<void> {
  await store.transact(async (tx) => {
    const record = await tx.get(integrations, tenant, id);
    const last_used_at_ms = ports.clock.now();
    if (record !== null) tx.put(integrations, tenant, { ...record, last_used_at_ms });
  });
}
