import type { Tenant } from "../../kv/store/collection.ts";
import { type IntegrationRecord, integrations } from "../../kv/records/integration.ts";
import type { App } from "../work/work.ts";
import { personRights } from "../access/roles/grant.ts";
import { LENDS } from "../access/standing/kinds.ts";
import { actsFor } from "../access/standing/suspension.ts";
import { serviceOf } from "./catalog.ts";
import { configOf, INTEGRATIONS_MAX } from "./installed.ts";
import { accessTokenOf, refreshTokens } from "./oauth/tokens.ts";

/** What Git over HTTPS sends as Basic credentials. */
export interface RepositoryCredential {
  readonly username: string;
  readonly password: string;
  /** Whose credential it is. */
  readonly integrationId: string;
}

/**
 * Credentials for a Git server, by its host and, unless it is the usual one, its port; null when no
 * integration holds one that works now, or the person for whom it acts may not lend it any more; the test space
 * has none. Of several the newest one counts.
 */
export async function repositoryCredentialOf(
  app: App,
  tenant: Tenant,
  host: string,
  { quiet = false }: {
    /** True when the use is not written down. */
    readonly quiet?: boolean;
  } = {},
): Promise<RepositoryCredential | null> {
  const { items } = await app.store.list(integrations, tenant, {
    limit: 2 * INTEGRATIONS_MAX,
    reverse: true,
  });
  for (const record of items) {
    const access = serviceOf(record).repository?.(configOf(app, record)) ?? null;
    if (access === null || access.host !== host.toLowerCase()) continue;
    if (!(await personRights(app.store, tenant.org, actsFor(record))).has(LENDS)) continue;
    const password = access.password ?? await freshToken(app, tenant, record);
    if (password === null) continue;
    if (!quiet) await noteUse(app, tenant, record.id);
    return { username: access.username, password, integrationId: record.id };
  }
  return null;
}

async function freshToken(
  app: App,
  tenant: Tenant,
  record: IntegrationRecord,
): Promise<string | null> {
  const token = accessTokenOf(app, record);
  if (token !== null) return token;
  const refreshed = await refreshTokens(app, tenant, record.id);
  return refreshed && accessTokenOf(app, refreshed);
}

async function noteUse(app: App, tenant: Tenant, id: string): Promise<void> {
  await app.store.transact(async (tx) => {
    const record = await tx.get(integrations, tenant, id);
    const last_used_at_ms = app.ports.clock.now();
    if (record !== null) tx.put(integrations, tenant, { ...record, last_used_at_ms });
  });
}
